/** A comment thread at each hunk of a diff that is in sight: who proposes it, why, what was checked; and a place to answer. */

import { t } from "@vscode/l10n";
import { CommentMode, comments, CommentThreadCollapsibleState, MarkdownString, Range, window, workspace } from "vscode";
import type { CommentThread, Disposable, TextDocument } from "vscode";

import type { Lines, ReviewFile, ReviewHunk, ReviewProposal } from "../protocol.ts";
import { fileAt, hunkOf } from "./desk.ts";
import type { Changes, Desk } from "./desk.ts";
import { addressOf, AFTER } from "./files.ts";
import { asMarkdown, openHunks } from "./words.ts";

/** From so many hunks on, what is said about any is folded. */
const FOLDED_FROM = 30;

export interface Target {
  readonly proposalId: string;
  readonly path: string;
  /** None: all that waits in the file, or without a path in the proposal. */
  readonly hunkIds: readonly string[];
}

export interface Threads extends Disposable {
  /** The hunk that a thread is about. */
  targetOf(thread: CommentThread): Target | undefined;
  /** Unfolds what is said about a hunk. */
  unfold(target: Target): void;
}

export function createThreads(desk: Desk): Threads {
  const controller = comments.createCommentController("rolecall.review", "Rolecall");
  controller.options = { prompt: t("Say why, then reject it or have it made anew"), placeHolder: t("Because …") };
  const drawn = new Map<string, { thread: CommentThread; target: Target }>();

  /** VS Code tells every editor of each thread: a diff of many files has those alone that are in sight, or were. */
  const isSeen = (document: TextDocument): boolean => window.visibleTextEditors.some((editor) => editor.document === document);

  async function draw(document: TextDocument): Promise<void> {
    const address = addressOf(document.uri);
    if (address === undefined || document.uri.scheme !== AFTER || !isSeen(document)) {
      return;
    }
    const sides = await desk.sides(address.proposalId, address.path);
    const proposal = desk.find(address.proposalId);
    const file = proposal && fileAt(proposal, address.path);
    const wanted = new Set<string>();
    for (const { hunkId, right } of sides.hunks) {
      const hunk = file && hunkOf(file, hunkId);
      if (proposal !== undefined && file !== undefined && hunk !== undefined) {
        const key = `${document.uri.toString()}\n${hunkId}`;
        wanted.add(key);
        drawOne(document, key, proposal, file, hunk, right);
      }
    }
    forget((key) => key.startsWith(`${document.uri.toString()}\n`) && !wanted.has(key));
  }

  function drawOne(document: TextDocument, key: string, proposal: ReviewProposal, file: ReviewFile, hunk: ReviewHunk, lines: Lines): void {
    const last = Math.min(Math.max(lines.start, lines.end - 1), Math.max(0, document.lineCount - 1));
    const range = new Range(Math.min(lines.start, last), 0, last, document.lineAt(last).text.length);
    const said = { body: about(proposal, file, hunk), mode: CommentMode.Preview, author: { name: proposal.role } };
    const old = drawn.get(key)?.thread;
    if (old !== undefined) {
      old.range = range;
      old.comments = [said];
      return;
    }
    const thread = controller.createCommentThread(document.uri, range, [said]);
    thread.label = `${proposal.proposalId}/${hunk.hunkId}`;
    thread.contextValue = hunk.kind === "text" ? "hunk revisable" : "hunk";
    const isFolded = openHunks(proposal.files).length >= FOLDED_FROM || !isTelling(proposal, file, hunk);
    thread.collapsibleState = isFolded ? CommentThreadCollapsibleState.Collapsed : CommentThreadCollapsibleState.Expanded;
    drawn.set(key, { thread, target: { proposalId: proposal.proposalId, path: file.path, hunkIds: [hunk.hunkId] } });
  }

  const isDrawn = ({ uri }: TextDocument): boolean => [...drawn.keys()].some((key) => key.startsWith(`${uri.toString()}\n`));

  function forget(gone: (key: string) => boolean): void {
    for (const [key, { thread }] of [...drawn]) {
      if (gone(key)) {
        thread.dispose();
        drawn.delete(key);
      }
    }
  }

  function drawAll(isOther: Changes): void {
    for (const document of workspace.textDocuments) {
      const address = addressOf(document.uri);
      if (address !== undefined && isOther(address.proposalId, address.path)) {
        void draw(document).catch(() => undefined);
      }
    }
  }

  const listening = [
    window.onDidChangeVisibleTextEditors((editors) => {
      for (const { document } of editors.filter((editor) => !isDrawn(editor.document))) {
        void draw(document).catch(() => undefined);
      }
    }),
    // A text that is read anew has moved the threads that were already where they belong in it.
    workspace.onDidChangeTextDocument(({ document }) => (document.isDirty ? undefined : void draw(document).catch(() => undefined))),
    workspace.onDidCloseTextDocument((document) => forget((key) => key.startsWith(`${document.uri.toString()}\n`))),
    desk.onDidChange(drawAll),
  ];
  drawAll(() => true);
  return {
    targetOf: (thread) => [...drawn.values()].find((one) => one.thread === thread)?.target,
    unfold(target) {
      for (const { thread, target: of } of drawn.values()) {
        if (of.proposalId === target.proposalId && of.hunkIds[0] === target.hunkIds[0]) {
          thread.collapsibleState = CommentThreadCollapsibleState.Expanded;
        }
      }
    },
    dispose() {
      listening.forEach((one) => void one.dispose());
      controller.dispose();
    },
  };
}

/** Whether more is said of *hunk* than of all others: the first of a proposal also says what it is for. */
function isTelling(proposal: ReviewProposal, file: ReviewFile, hunk: ReviewHunk): boolean {
  const isFirst = proposal.files[0]?.hunks[0] === hunk;
  return isFirst || file.guarded !== "" || hunk.off || hunk.cautions.length > 0 || hunk.evidence.length > 0;
}

/** What there is to know of a hunk before one decides; none of it is taken for Markdown, for others wrote it. */
export function about(proposal: ReviewProposal, file: ReviewFile, hunk: ReviewHunk): MarkdownString {
  const text = new MarkdownString(undefined, true);
  const line = (icon: string, words: string): void => {
    text.appendMarkdown(`\n\n$(${icon}) ${asMarkdown(words)}`);
  };
  text.appendMarkdown(`**${asMarkdown(hunk.title)}**`);
  if (file.guarded !== "" && hunk.cautions.length === 0) {
    line("warning", t("{0} is guarded: {1}", file.path, file.guarded));
  }
  hunk.cautions.forEach((caution) => line("warning", caution));
  if (hunk.edited) {
    line("edit", t("You edited it: what was checked is about the text before."));
  }
  if (proposal.evidence.misfit !== "") {
    line("history", proposal.evidence.misfit);
  }
  line("beaker", proposal.evidence.text);
  hunk.evidence.forEach((words) => line("beaker", words));
  if (hunk.needs.length > 0) {
    line("link", t("Needs {0}.", hunk.needs.join(", ")));
  }
  if (hunk.touches !== "") {
    line("references", t("Touches {0}.", hunk.touches));
  }
  if (hunk.serves.length > 0) {
    line("tasklist", t("Serves {0}.", hunk.serves.join(", ")));
  }
  if (proposal.rationale !== "") {
    text.appendMarkdown(`\n\n${asMarkdown(proposal.rationale)}`);
  }
  return text;
}
