/** How tests ended, told to the Testing view: as a proposal was checked, and as they ran again. */

import { t } from "@vscode/l10n";
import { Location, Position, Range, TestMessage, Uri } from "vscode";
import type { TestItem, TestRun } from "vscode";

import type { Outcome, ProposalTests } from "../protocol.ts";
import type { Items } from "./items.ts";
import { leavesOf } from "./items.ts";
import { asOutput, stateOf } from "./words.ts";

export interface End {
  readonly testId: string;
  readonly outcome: Outcome;
  readonly message: string;
  readonly seconds: number;
  readonly detail?: string;
}

/** Tells *run* the ends of tests; the items that it was told of. One of a whole file is that of each of its tests. */
export function tell(run: TestRun, items: Items, proposalId: string, ends: readonly End[]): Set<TestItem> {
  const told = new Set<TestItem>();
  for (const end of ends) {
    const item = items.find(proposalId, end.testId);
    for (const leaf of item === undefined ? [] : end.testId.includes("::") ? [item] : leavesOf(item)) {
      tellOne(run, leaf, end);
      told.add(leaf);
    }
  }
  return told;
}

function tellOne(run: TestRun, item: TestItem, end: End): void {
  const duration = end.seconds * 1000;
  switch (stateOf(end.outcome)) {
    case "passed":
      run.passed(item, duration);
      return;
    case "failed":
      run.failed(item, messageOf(item, end), duration);
      return;
    case "errored":
      run.errored(item, messageOf(item, end), duration);
      return;
    case "skipped":
      run.skipped(item);
      if (end.message !== "") {
        run.appendOutput(asOutput(`${end.testId}: ${end.message}`), undefined, item);
      }
  }
}

function messageOf(item: TestItem, end: End): TestMessage {
  const message = new TestMessage([end.message || end.outcome, end.detail ?? ""].filter(Boolean).join("\n\n"));
  if (item.uri !== undefined && item.range !== undefined) {
    message.location = new Location(item.uri, item.range.start);
  }
  return message;
}

/** Tells *run* of faults in the tested code that no test notices, at their lines: no test fails by that. */
export function tellSurvivors(run: TestRun, root: TestItem, proposal: ProposalTests): void {
  for (const { path, uri, line, text } of proposal.survivors) {
    const place = new Location(Uri.parse(uri), new Range(new Position(line, 0), new Position(line, 0)));
    const said = t("No test of {0} notices when here {1}.", proposal.proposalId, text);
    run.appendOutput(asOutput(`${path}:${line + 1}: ${said}`), place, root);
  }
}
