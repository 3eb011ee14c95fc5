/** A run has something to show: it is drawn without taking the focus, or offered where somebody has gone on working. */

import { t } from "@vscode/l10n";
import { TextEditorSelectionChangeKind, window, workspace } from "vscode";
import type { Disposable } from "vscode";

import type { ReviewProposal } from "../protocol.ts";
import type { Server } from "../server.ts";
import { asNotice } from "../setup/plainText.ts";
import type { Desk } from "./desk.ts";
import { drawFirst, openProposal } from "./opening.ts";
import { extent, openHunks } from "./words.ts";

/** What somebody does is told late where an editor has to be drawn first. */
const TOLD_LATE_MS = 250;

/** How often somebody did something, as far as VS Code tells. */
export interface Hands extends Disposable {
  count(): number;
  /** Performs what is our own doing, which is not counted. */
  still(perform: () => Promise<void>): Promise<void>;
}

export function watchHands(): Hands {
  let [touches, ownDoings] = [0, 0];
  const listening = listenForTouches(() => {
    touches += ownDoings === 0 ? 1 : 0;
  });
  return {
    count: () => touches,
    async still(perform) {
      ownDoings += 1;
      try {
        await perform();
      } finally {
        setTimeout(() => (ownDoings -= 1), TOLD_LATE_MS);
      }
    },
    dispose: () => listening.forEach((one) => void one.dispose()),
  };
}

export function followRuns(server: Server, desk: Desk, hands: Hands): Disposable {
  const atStart = new Map<string, number>();

  async function arrive(proposal: ReviewProposal, isUntouched: boolean): Promise<void> {
    const waiting = openHunks(proposal.files).length;
    if (waiting === 0) {
      return;
    }
    if (isUntouched) {
      await drawFirst(proposal);
    }
    // Of several files only the first was drawn: a diff of all takes the focus, so it is offered.
    const isWhole = isUntouched && proposal.files.length === 1;
    const said = `${proposal.title}: ${extent(proposal.files, waiting)}. ${proposal.evidence.text}`;
    if (!isWhole && (await window.showInformationMessage(asNotice(said), t("Review"))) !== undefined) {
      await openProposal(desk.find(proposal.proposalId) ?? proposal);
    }
  }

  return server.onRun(async ({ runId, state, proposalId }) => {
    if (state === "started") {
      atStart.set(runId, hands.count());
      return;
    }
    // Before the desk is waited for: what it learns closes tabs of ours, which is nobody's work.
    const isUntouched = atStart.get(runId) === hands.count();
    atStart.delete(runId);
    const proposal = proposalId === undefined ? undefined : await soon(desk, proposalId);
    if (proposal !== undefined) {
      await arrive(proposal, isUntouched);
    }
  });
}

/** What VS Code tells of what somebody does; where the focus is, it does not. */
function listenForTouches(touched: () => void): Disposable[] {
  const byHand = [TextEditorSelectionChangeKind.Keyboard, TextEditorSelectionChangeKind.Mouse];
  return [
    workspace.onDidChangeTextDocument(({ document, contentChanges }) => {
      // VS Code empties the box of a comment once it was sent, and that may be after the run has begun.
      const isSent = document.uri.scheme === "comment" && document.getText() === "";
      const isOutput = document.uri.scheme === "output";
      if (document === window.activeTextEditor?.document && contentChanges.length > 0 && !isOutput && !isSent) {
        touched();
      }
    }),
    window.onDidChangeTextEditorSelection(({ kind }) => (kind !== undefined && byHand.includes(kind) ? touched() : undefined)),
    window.onDidChangeActiveTextEditor(touched),
    window.onDidChangeActiveTerminal(touched),
    window.tabGroups.onDidChangeTabs(({ opened, closed }) => (opened.length + closed.length > 0 ? touched() : undefined)),
    window.onDidChangeWindowState(({ focused }) => (focused ? undefined : touched())),
  ];
}

/** The proposal once it is known here: the word of it may come before it does. */
async function soon(desk: Desk, proposalId: string): Promise<ReviewProposal | undefined> {
  if (desk.find(proposalId) === undefined) {
    await new Promise<void>((resolve) => {
      const listening = desk.onDidChange(() => {
        listening.dispose();
        resolve();
      });
    });
  }
  return desk.find(proposalId);
}
