/** Which hunk an editor's cursor is at. */

import { Uri } from "vscode";
import type { TextEditor } from "vscode";

import type { Desk } from "./desk.ts";
import { fileAt } from "./desk.ts";
import { addressOf } from "./files.ts";
import type { Here } from "./order.ts";

/** Where *editor* is in what waits: in one of our sides, or in a file that a hunk is about; else undefined. */
export async function hereIn(desk: Desk, editor: TextEditor | undefined): Promise<Here | undefined> {
  if (editor === undefined) {
    return undefined;
  }
  const line = editor.selection.active.line;
  const address = addressOf(editor.document.uri);
  if (address === undefined) {
    return inRealFile(desk, editor.document.uri, line);
  }
  const sides = await desk.sides(address.proposalId, address.path);
  const side = editor.document.uri.scheme === "rolecall-before" ? "left" : "right";
  const before = sides.hunks.filter((hunk) => hunk[side].start <= line).at(-1);
  const proposal = desk.find(address.proposalId);
  const path = (proposal && fileAt(proposal, address.path)?.path) ?? address.path;
  // A hunk without lines on this side is at one line all the same.
  const on = before !== undefined && line < Math.max(before[side].end, before[side].start + 1);
  return { proposalId: address.proposalId, path, hunkId: before?.hunkId, on };
}

function inRealFile(desk: Desk, uri: Uri, line: number): Here | undefined {
  for (const proposal of desk.now().proposals) {
    for (const file of proposal.files) {
      const placed = file.hunks.filter((hunk) => hunk.place !== null && Uri.parse(hunk.place.uri).toString() === uri.toString());
      if (placed.length > 0) {
        const before = placed.filter((hunk) => (hunk.place?.range.start.line ?? 0) <= line).at(-1);
        const on = before !== undefined && line <= (before.place?.range.end.line ?? 0);
        return { proposalId: proposal.proposalId, path: file.path, hunkId: before?.hunkId, on };
      }
    }
  }
  return undefined;
}
