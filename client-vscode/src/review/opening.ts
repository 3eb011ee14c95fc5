/** Opens proposals, files and hunks as diffs: what stands now beside what would stand. */

import { commands, Range, Uri, window } from "vscode";
import type { Tab, TextDocumentShowOptions } from "vscode";

import type { ReviewFile, ReviewHunk, ReviewProposal } from "../protocol.ts";
import type { Desk } from "./desk.ts";
import { AFTER, BEFORE, sideOf } from "./files.ts";
import { openHunks, pathAfter } from "./words.ts";

/** The title of a proposal's diff; by it its tab is known again. */
function titleOf(proposal: ReviewProposal): string {
  return `${proposal.proposalId}: ${proposal.title}`;
}

/** Whether the whole of *proposal* is open in *tab*; VS Code adds how many files there are. */
export function isTabOf(tab: Tab | undefined, proposal: ReviewProposal): boolean {
  return tab?.label.startsWith(titleOf(proposal)) ?? false;
}

/** The tab in which the whole of *proposal* is open. */
export function tabOf(proposal: ReviewProposal): Tab | undefined {
  return window.tabGroups.all.flatMap((group) => group.tabs).find((tab) => isTabOf(tab, proposal));
}

/** Opens everything that waits of *proposal*; one file alone as a diff of its own. */
export async function openProposal(proposal: ReviewProposal): Promise<void> {
  const files = proposal.files.filter((file) => openHunks([file]).length > 0);
  const [only] = files;
  if (files.length === 1 && only !== undefined) {
    await openFile(proposal, only);
    return;
  }
  const old = tabOf(proposal);
  if (old !== undefined) {
    await window.tabGroups.close(old);
  }
  // Both sides, even of a file that is new or goes: VS Code keeps a side without a document empty,
  // whatever is decided meanwhile.
  const sides = files.map((file) => [
    Uri.joinPath(Uri.parse(proposal.root), pathAfter(file)),
    sideOf(BEFORE, proposal.proposalId, file),
    sideOf(AFTER, proposal.proposalId, file),
  ]);
  await commands.executeCommand("vscode.changes", titleOf(proposal), sides);
}

/** Draws the first file that waits of *proposal* and leaves the focus where it is, which a diff of several files cannot. */
export async function drawFirst(proposal: ReviewProposal): Promise<void> {
  const first = proposal.files.find((file) => openHunks([file]).length > 0);
  if (first !== undefined) {
    await openFile(proposal, first, undefined, { preview: false, preserveFocus: true });
  }
}

/** Opens one file as a diff, at the line *at* of the right side. */
export async function openFile(
  proposal: ReviewProposal,
  file: ReviewFile,
  at?: number,
  how: TextDocumentShowOptions = { preview: true },
): Promise<void> {
  const sides = [sideOf(BEFORE, proposal.proposalId, file), sideOf(AFTER, proposal.proposalId, file)];
  const title = `${pathAfter(file).split("/").at(-1)} (${proposal.proposalId})`;
  const place = at === undefined ? {} : { selection: new Range(at, 0, at, 0) };
  await commands.executeCommand("vscode.diff", ...sides, title, { ...how, ...place });
}

/** Opens a hunk in the diff of its file. */
export async function openHunk(desk: Desk, proposal: ReviewProposal, file: ReviewFile, hunk: ReviewHunk): Promise<void> {
  const sides = await desk.sides(proposal.proposalId, file.path);
  const place = sides.hunks.find((one) => one.hunkId === hunk.hunkId);
  await openFile(proposal, file, place?.right.start ?? 0);
}
