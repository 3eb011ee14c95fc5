/** Tests of proposals run again in the sandbox, from the Testing view. The workspace is never written to. */

import { t } from "@vscode/l10n";
import { TestMessage } from "vscode";
import type { CancellationToken, TestController, TestItem, TestRun, TestRunRequest } from "vscode";

import { TestsRunRequest } from "../protocol.ts";
import type { ProposalTests, TestsRunResult } from "../protocol.ts";
import type { Server } from "../server.ts";
import { addCoverage } from "./coverage.ts";
import type { Items } from "./items.ts";
import { leavesOf } from "./items.ts";
import { tell, tellSurvivors } from "./results.ts";
import { aboutCoverage, asOutput } from "./words.ts";

interface Errand {
  readonly proposalId: string;
  /** Empty for all of them. */
  readonly testIds: string[];
  readonly leaves: readonly TestItem[];
}

/** What is known of a proposal's tests; undefined where nothing is. */
export type Known = (proposalId: string) => ProposalTests | undefined;

/** Runs what *request* asks for, proposal by proposal, with what it reaches where *coverage* is wanted. */
export async function runTests(
  server: Server,
  controller: TestController,
  items: Items,
  request: TestRunRequest,
  token: CancellationToken,
  coverage: boolean,
  known: Known,
): Promise<void> {
  const errands = errandsOf(controller, items, request);
  const run = controller.createTestRun(request);
  try {
    for (const { leaves } of errands) {
      leaves.forEach((leaf) => run.enqueued(leaf));
    }
    for (const errand of errands) {
      if (!token.isCancellationRequested) {
        await runOne(server, controller, items, request, run, errand, token, coverage);
        tellAgain(run, controller, known(errand.proposalId));
      }
    }
  } finally {
    run.end();
  }
}

/** The faults that no test notices are of the tests, not of one run: the latest run has them too. */
function tellAgain(run: TestRun, controller: TestController, proposal: ProposalTests | undefined): void {
  const root = proposal === undefined ? undefined : controller.items.get(proposal.proposalId);
  if (proposal !== undefined && proposal.misfit === "" && root !== undefined) {
    tellSurvivors(run, root, proposal);
  }
}

function errandsOf(controller: TestController, items: Items, request: TestRunRequest): Errand[] {
  const roots: TestItem[] = [];
  controller.items.forEach((item) => roots.push(item));
  const excluded = new Set((request.exclude ?? []).flatMap(leavesOf));
  const found = new Map<string, { testIds: string[]; leaves: TestItem[]; isWhole: boolean }>();
  for (const item of request.include ?? roots) {
    const meant = items.meant(item);
    const leaves = leavesOf(item).filter((leaf) => !excluded.has(leaf));
    if (meant === undefined || leaves.length === 0) {
      continue;
    }
    const errand = found.get(meant.proposalId) ?? { testIds: [], leaves: [], isWhole: false };
    const isAll = leaves.length === leavesOf(item).length;
    const named = isAll ? [meant.testId] : leaves.map((leaf) => items.meant(leaf)?.testId ?? "");
    errand.isWhole ||= named.includes("");
    errand.testIds.push(...named);
    errand.leaves.push(...leaves);
    found.set(meant.proposalId, errand);
  }
  return [...found].map(([proposalId, { testIds, leaves, isWhole }]) => ({
    proposalId,
    testIds: isWhole ? [] : testIds,
    leaves,
  }));
}

async function runOne(
  server: Server,
  controller: TestController,
  items: Items,
  request: TestRunRequest,
  run: TestRun,
  { proposalId, testIds, leaves }: Errand,
  token: CancellationToken,
  coverage: boolean,
): Promise<void> {
  leaves.forEach((leaf) => run.started(leaf));
  try {
    const client = await server.ready();
    const ended = await client.sendRequest(TestsRunRequest, { proposalId, testIds, coverage }, token);
    tellEnd(run, items, ended, leaves);
    if (coverage) {
      tellCoverage(controller, request, run, ended);
    }
  } catch (error) {
    if (!token.isCancellationRequested) {
      const why = new TestMessage(error instanceof Error ? error.message : String(error));
      leaves.forEach((leaf) => run.errored(leaf, why));
    }
  }
}

function tellEnd(run: TestRun, items: Items, ended: TestsRunResult, leaves: readonly TestItem[]): void {
  const where = ended.where === "" ? ended.proposalId : `${ended.proposalId} (${ended.where})`;
  run.appendOutput(asOutput(t("{0} in Rolecall's sandbox: nothing is written to the workspace.", where)));
  run.appendOutput(asOutput(ended.output));
  run.appendOutput(asOutput(ended.reason));
  const told = tell(run, items, ended.proposalId, ended.tests);
  const why = new TestMessage(ended.reason || t("It did not run."));
  for (const leaf of leaves) {
    // Cases that this run was the first to tell of are now below what was a leaf.
    const isTold = told.has(leaf) || leavesOf(leaf).some((one) => told.has(one));
    if (!isTold && ended.ran) {
      run.skipped(leaf);
    } else if (!isTold) {
      run.errored(leaf, why);
    }
  }
}

/** What was reached with the proposal, and in a part of its own what was reached without it. */
function tellCoverage(controller: TestController, request: TestRunRequest, run: TestRun, ended: TestsRunResult): void {
  const { proposalId, coverage } = ended;
  addCoverage(run, proposalId, coverage, "after");
  coverage.forEach((file) => run.appendOutput(asOutput(aboutCoverage(file))));
  run.appendOutput(asOutput(ended.coverageReason));
  if (coverage.some(({ before }) => before !== null)) {
    const without = controller.createTestRun(request, t("without {0}", proposalId), false);
    addCoverage(without, proposalId, coverage, "before");
    without.end();
  }
}
