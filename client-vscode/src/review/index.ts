/** The review: what roles propose, read as diffs, decided hunk by hunk, edited before it is accepted. */

import { commands, window } from "vscode";
import type { Disposable, ExtensionContext, LogOutputChannel, TextEditor } from "vscode";

import type { Pointer } from "../commands.ts";
import { ConfirmRequest } from "../protocol.ts";
import type { ReviewProposal } from "../protocol.ts";
import type { Server } from "../server.ts";
import { offerToSave, registerActions } from "./actions.ts";
import { followRuns, watchHands } from "./arriving.ts";
import type { Hands } from "./arriving.ts";
import { confirm } from "./confirming.ts";
import { createDesk } from "./desk.ts";
import type { Desk } from "./desk.ts";
import { addressOf, registerSides } from "./files.ts";
import { registerLenses } from "./lenses.ts";
import { registerMarks } from "./marks.ts";
import { isTabOf, tabOf } from "./opening.ts";
import { hereIn } from "./places.ts";
import { createThreads } from "./threads.ts";
import { createTree } from "./tree.ts";

export interface Review {
  readonly desk: Desk;
  readonly disposables: Disposable[];
  /** What an editor that shows a side of a proposal's file points at, as the server's commands name it. */
  readonly pointed: Pointer;
}

export function createReview(context: ExtensionContext, server: Server, log: LogOutputChannel): Review {
  const desk = createDesk(server, log);
  const tree = createTree(desk);
  const threads = createThreads(desk);
  const hands = watchHands();
  const disposables = [
    desk,
    tree,
    threads,
    ...registerSides(server, desk),
    ...registerLenses(desk),
    ...registerMarks(context, server, desk),
    ...registerActions(desk, tree, threads),
    ...followTabs(desk),
    hands,
    followRuns(server, desk, hands),
    finish(desk, hands),
    server.onDidStart((client) => client.onRequest(ConfirmRequest, confirm)),
  ];
  return { desk, disposables, pointed: (editor) => pointedIn(desk, editor) };
}

async function pointedIn(desk: Desk, editor: TextEditor | undefined): Promise<object | undefined> {
  const here = editor && addressOf(editor.document.uri) && (await hereIn(desk, editor));
  return here && { proposalId: here.proposalId, path: here.path, hunkId: here.hunkId ?? "" };
}

/** Says to the menus whether the diff of a proposal is in front. */
function followTabs(desk: Desk): Disposable[] {
  const look = (): void => {
    const tab = window.tabGroups.activeTabGroup.activeTab;
    const isOurs = desk.now().proposals.some((proposal) => isTabOf(tab, proposal));
    void commands.executeCommand("setContext", "rolecall.review.inFront", isOurs);
    void commands.executeCommand("setContext", "rolecall.review.waits", desk.now().proposals.length > 0);
  };
  return [window.tabGroups.onDidChangeTabs(look), window.tabGroups.onDidChangeTabGroups(look), desk.onDidChange(look)];
}

/** Once all of a proposal is decided: closes its diffs, and offers to save what was accepted. */
function finish(desk: Desk, hands: Hands): Disposable {
  let before: readonly ReviewProposal[] = [];
  return desk.onDidChange(async () => {
    const gone = before.filter((one) => desk.find(one.proposalId) === undefined);
    before = desk.now().proposals;
    for (const proposal of gone) {
      await hands.still(() => closeDiffs(proposal));
      await offerToSave(proposal);
    }
  });
}

async function closeDiffs(proposal: ReviewProposal): Promise<void> {
  const whole = tabOf(proposal);
  const single = window.tabGroups.all
    .flatMap((group) => group.tabs)
    .filter(({ input, isDirty }) => {
      const uri = (input as { modified?: Parameters<typeof addressOf>[0] } | undefined)?.modified;
      return !isDirty && uri !== undefined && addressOf(uri)?.proposalId === proposal.proposalId;
    });
  await window.tabGroups.close([...(whole === undefined ? [] : [whole]), ...single], true);
}
