/** The Testing view: the tests of proposals with their results, run again in the sandbox, and what they reach. */

import { t } from "@vscode/l10n";
import { TestRunProfileKind, TestRunRequest, tests, workspace } from "vscode";
import type { CancellationToken, Disposable, ExtensionContext, LogOutputChannel, Memento, TestController } from "vscode";

import { TestsRequest } from "../protocol.ts";
import type { ProposalTests } from "../protocol.ts";
import type { Desk } from "../review/desk.ts";
import type { Server } from "../server.ts";
import { detailIn, showsCoverage } from "./coverage.ts";
import { createItems } from "./items.ts";
import { tell, tellSurvivors } from "./results.ts";
import { runTests } from "./runs.ts";
import { printOf } from "./words.ts";

const REMEMBERED = "rolecall.testing.proposals";
const MOST_REMEMBERED = 20;
/** The tests of a proposal are asked for once nobody has decided for so long: a decision is shown first. */
const QUIET_MS = 400;

export function createTesting(context: ExtensionContext, server: Server, desk: Desk, log: LogOutputChannel): Disposable[] {
  const controller = tests.createTestController("rolecall", "Rolecall");
  const items = createItems(controller);
  const shown = new Map<string, { readonly tests: ProposalTests; readonly print: string }>();

  function show(proposal: ProposalTests): void {
    const root = items.show(proposal);
    const before = shown.get(proposal.proposalId);
    if (root === undefined) {
      shown.delete(proposal.proposalId);
      return;
    }
    const print = printOf(proposal);
    shown.set(proposal.proposalId, { tests: proposal, print });
    if (print === "" && before?.print !== "") {
      controller.invalidateTestResults(root);
    } else if (print !== "" && print !== before?.print) {
      // The last `true` keeps the focus where it is: nobody asked for this run.
      const request = new TestRunRequest([root], undefined, undefined, false, true);
      const run = controller.createTestRun(request, t("{0} as it was checked", proposal.proposalId), false);
      const ends = proposal.tests.flatMap(({ cases }) => cases);
      tell(run, items, proposal.proposalId, ends);
      tellSurvivors(run, root, proposal);
      run.end();
    }
  }

  async function ask(proposalIds: readonly string[]): Promise<void> {
    if (proposalIds.length === 0) {
      return;
    }
    try {
      const client = await server.ready();
      const answer = await client.sendRequest(TestsRequest, { proposalIds });
      answer.proposals.forEach(show);
    } catch (error) {
      log.debug(`rolecall/tests: ${String(error)}`);
    }
  }

  const changed = new Set<string>();
  let quiet: ReturnType<typeof setTimeout> | undefined;
  function askSoon(proposalIds: readonly string[]): void {
    proposalIds.forEach((id) => changed.add(id));
    clearTimeout(quiet);
    quiet = setTimeout(() => {
      const ids = [...changed];
      changed.clear();
      void ask(ids);
    }, QUIET_MS);
  }

  const open = (): string[] => desk.now().proposals.map(({ proposalId }) => proposalId);
  const all = (): string[] => [...new Set([...remembered(context.workspaceState), ...shown.keys(), ...open()])];
  const known = (proposalId: string): ProposalTests | undefined => shown.get(proposalId)?.tests;
  addProfiles(controller, (request, token, coverage) =>
    runTests(server, controller, items, request, token, coverage, known),
  );
  controller.refreshHandler = () => ask(all());
  return [
    controller,
    { dispose: () => clearTimeout(quiet) },
    server.onDidStart(() => void ask(all())),
    desk.onDidChange((isOther) => {
      remember(context.workspaceState, open());
      askSoon(all().filter((id) => isOther(id)));
    }),
    workspace.onDidSaveTextDocument(({ uri }) => {
      const holds = ({ tests: { tests: known } }: { tests: ProposalTests }): boolean =>
        known.some((test) => test.uri === uri.toString());
      void ask([...shown].filter(([, one]) => holds(one)).map(([proposalId]) => proposalId));
    }),
  ];
}

type RunHandler = (request: TestRunRequest, token: CancellationToken, coverage: boolean) => Promise<void>;

function addProfiles(controller: TestController, run: RunHandler): void {
  const { Run, Coverage } = TestRunProfileKind;
  controller.createRunProfile(t("Sandbox"), Run, (request, token) => run(request, token, false), true);
  if (showsCoverage()) {
    const label = t("Sandbox with Coverage");
    detailIn(controller.createRunProfile(label, Coverage, (request, token) => run(request, token, true), true));
  }
}

/** The latest proposals of this workspace, decided ones included: the tests that were accepted are shown on. */
function remembered(state: Memento): readonly string[] {
  return state.get<readonly string[]>(REMEMBERED, []);
}

function remember(state: Memento, proposalIds: readonly string[]): void {
  const known = remembered(state);
  const fresh = proposalIds.filter((id) => !known.includes(id));
  if (fresh.length > 0) {
    void state.update(REMEMBERED, [...known, ...fresh].slice(-MOST_REMEMBERED));
  }
}
