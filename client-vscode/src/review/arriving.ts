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

export function followRuns(server: Server, desk: Desk): Disposable[] {
  let touches = 0;
  const atStart = new Map<string, number>();
  const touched = (): void => {
    touches += 1;
  };

  async function arrive(proposal: ReviewProposal, isUntouched: boolean): Promise<void> {
    const waiting = openHunks(proposal.files).length;
    if (waiting === 0) {
      return;
    }
    if (isUntouched) {
      await drawFirst(proposal);
    }
    const isWhole = isUntouched && proposal.files.length === 1;
    const said = `${proposal.title}: ${extent(proposal.files, waiting)}. ${proposal.evidence.text}`;
    if (!isWhole && (await window.showInformationMessage(asNotice(said), t("Review"))) !== undefined) {
      await openProposal(desk.find(proposal.proposalId) ?? proposal);
    }
  }

  const running = server.onRun(async ({ runId, state, proposalId }) => {
    if (state === "started") {
      atStart.set(runId, touches);
      return;
    }
    const proposal = proposalId === undefined ? undefined : await soon(desk, proposalId);
    const isUntouched = atStart.get(runId) === touches;
    atStart.delete(runId);
    if (proposal !== undefined) {
      await arrive(proposal, isUntouched);
    }
  });
  return [running, ...listenForTouches(touched)];
}

/** What VS Code tells of what somebody does; where the focus is, it does not. */
function listenForTouches(touched: () => void): Disposable[] {
  const byHand = [TextEditorSelectionChangeKind.Keyboard, TextEditorSelectionChangeKind.Mouse];
  return [
    workspace.onDidChangeTextDocument(({ document, contentChanges }) => {
      if (document === window.activeTextEditor?.document && contentChanges.length > 0 && document.uri.scheme !== "output") {
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
