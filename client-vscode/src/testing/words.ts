/** What the Testing view says of a proposal's tests, and what a run is asked for. Nothing here knows VS Code. */

import { t } from "@vscode/l10n";

import type { CoveredFile, CoveredLines, Outcome, ProposalTests, ProposedTest, TestCase } from "../protocol.ts";

/** How VS Code knows an end of a test. */
export type State = "passed" | "failed" | "errored" | "skipped";

export function stateOf(outcome: Outcome): State {
  switch (outcome) {
    case "passed":
    case "xpassed":
      return "passed";
    case "failed":
      return "failed";
    case "error":
      return "errored";
    default:
      return "skipped";
  }
}

/** The test that a case is of: its id without parameters. */
export function testOf(caseId: string): string {
  return caseId.split("[", 1)[0] ?? caseId;
}

/** `TestPrice › test_total` of `tests/test_price.py::TestPrice::test_total`. */
export function labelOf(testId: string): string {
  const [path, ...names] = testId.split("::");
  return names.length > 0 ? names.join(" › ") : (path ?? testId);
}

/** `[0-1]` of a case with parameters. */
export function caseLabel(caseId: string): string {
  return caseId.slice(testOf(caseId).length);
}

/** The cases to show below a test: none where it has no parameters. */
export function shownCases(test: ProposedTest): readonly TestCase[] {
  return test.cases.filter(({ testId }) => testId !== test.testId);
}

export interface FileOfTests {
  readonly path: string;
  readonly uri: string;
  readonly isOpen: boolean;
  readonly tests: readonly ProposedTest[];
}

/** The tests file by file, those with tests that the proposal brings first. */
export function filesOf(proposal: ProposalTests): FileOfTests[] {
  const found = new Map<string, ProposedTest[]>();
  for (const test of proposal.tests) {
    found.set(test.path, [...(found.get(test.path) ?? []), test]);
  }
  return [...found].map(([path, tests]) => {
    const [first] = tests as [ProposedTest];
    return { path, uri: first.uri, isOpen: first.isOpen, tests };
  });
}

/** Whether there is something to show of it: a decided proposal stays for the tests that were accepted. */
export function isShown(proposal: ProposalTests): boolean {
  return proposal.isOpen ? proposal.tests.length > 0 : proposal.tests.some((test) => test.isBrought);
}

/** `p7: Tests for price.py`; a description beside it would be read out in place of it. */
export function titleOf(proposal: ProposalTests): string {
  const state = proposal.misfit !== "" ? t("changed since") : proposal.isOpen ? "" : t("accepted");
  return `${proposal.proposalId}: ${proposal.title}${state === "" ? "" : ` (${state})`}`;
}

/** By what the results of a proposal are known: others are told anew. */
export function printOf(proposal: ProposalTests): string {
  return proposal.misfit !== "" ? "" : JSON.stringify([proposal.tests.map(({ cases }) => cases), proposal.survivors]);
}

/** A terminal's lines, as a test run takes them. */
export function asOutput(text: string): string {
  return text === "" ? "" : `${text.trimEnd().replace(/\r?\n/g, "\r\n")}\r\n`;
}

/** `50 % -> 100 %; reached now: lines 3-5, 9` */
export function aboutCoverage(file: CoveredFile): string {
  const after = percent(file.after);
  if (file.before === null) {
    return t("Coverage of {0}: {1}.", file.path, after);
  }
  const known = new Set(file.before.reached);
  const gained = ranges(file.after.reached.filter((line) => !known.has(line)));
  const more = gained === "" ? t("no line more than before") : t("reached now: line {0}", gained);
  return t("Coverage of {0}: {1} -> {2}; {3}.", file.path, percent(file.before), after, file.isOpen ? t("its text is another now") : more);
}

function percent(lines: CoveredLines): string {
  // 99.6 % is not all of it.
  return `${Math.floor(100 * lines.ratio)} %`;
}

/** `3-5, 9` of lines from 0. */
function ranges(lines: readonly number[]): string {
  const parts: [number, number][] = [];
  for (const line of lines) {
    const last = parts.at(-1);
    if (last?.[1] === line - 1) {
      last[1] = line;
    } else {
      parts.push([line, line]);
    }
  }
  return parts.map(([start, end]) => (start === end ? `${start + 1}` : `${start + 1}-${end + 1}`)).join(", ");
}
