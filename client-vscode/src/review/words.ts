/** What the developer reads of proposals, files and hunks: short words, the same in every view. */

import { t } from "@vscode/l10n";

import type { ReviewFile, ReviewHunk, ReviewProposal } from "../protocol.ts";

/** Whether somebody still has to decide about *hunk*. */
export function isOpen(hunk: ReviewHunk): boolean {
  return hunk.state === "pending" || hunk.state === "edited" || hunk.state === "stale";
}

export function openHunks(files: readonly ReviewFile[]): ReviewHunk[] {
  return files.flatMap((file) => file.hunks.filter(isOpen));
}

/** The name under which a file stands once it is accepted. */
export function pathAfter(file: ReviewFile): string {
  return file.newPath === "" ? file.path : file.newPath;
}

/** What a hunk does, without its file, which stands above it, and its size, beside it: `adds total`. */
export function shortTitle(file: ReviewFile, hunk: ReviewHunk): string {
  if (hunk.kind !== "text") {
    return { create: t("makes an empty file"), delete: t("deletes the file"), rename: t("renames it to {0}", file.newPath) }[hunk.kind];
  }
  const words = hunk.title.replace(/ \([^()]*\)$/, "");
  return words.replace(` to ${file.path}`, "").replace(` in ${file.path}`, "").replace(`begins ${file.path}`, t("begins the file"));
}

/** `+12 −4`; a minus sign of its own width. */
export function size(hunks: readonly ReviewHunk[]): string {
  const sum = (of: "added" | "removed"): number => hunks.reduce((total, hunk) => total + hunk[of], 0);
  const parts = [sum("added") ? `+${sum("added")}` : "", sum("removed") ? `−${sum("removed")}` : ""];
  return parts.filter((part) => part !== "").join(" ");
}

export function countHunks(n: number): string {
  return n === 1 ? t("1 hunk") : t("{0} hunks", n);
}

export function countFiles(n: number): string {
  return n === 1 ? t("1 file") : t("{0} files", n);
}

/** `7 hunks in 2 files` */
export function extent(files: readonly ReviewFile[], hunks: number): string {
  return t("{0} in {1}", countHunks(hunks), countFiles(files.length));
}

/** What becomes of a file as a whole, in a word; empty where it stays. */
export function fate(file: ReviewFile): string {
  return { added: t("new"), deleted: t("goes"), renamed: "", changed: "" }[file.kind];
}

/** What is written beside the name of a file: `new · 2 of 3 hunks wait · +12 −4`. */
export function aboutFile(file: ReviewFile): string {
  const from = file.kind === "renamed" ? t("from {0}", file.path) : "";
  return joined(fate(file), from, waiting(file.hunks), size(file.hunks.filter(isOpen)), file.guarded && t("guarded"));
}

/** The state of a hunk in a word. */
export function stateName(hunk: ReviewHunk): string {
  const names = { pending: t("waits"), edited: t("edited"), accepted: t("accepted"), rejected: t("rejected"), stale: t("lost its place") };
  return names[hunk.state];
}

/** What is written beside a hunk: `h2 · +7 −1 · edited · needs h1`. */
export function aboutHunk(hunk: ReviewHunk): string {
  const state = hunk.state === "pending" ? "" : stateName(hunk);
  const needs = hunk.needs.length > 0 && isOpen(hunk) ? t("needs {0}", hunk.needs.join(", ")) : "";
  const off = hunk.off && isOpen(hunk) ? t("off: shows a finding") : "";
  return joined(hunk.hunkId, size([hunk]), state, off, needs, hunk.cautions.length > 0 ? t("caution") : "");
}

/** What is written beside a proposal: `7 hunks in 2 files · 140 passed, 0 failed`. */
export function aboutProposal(proposal: ReviewProposal): string {
  const evidence = proposal.evidence.misfit === "" ? proposal.evidence.text : t("checked before it was changed");
  const hunks = proposal.files.flatMap((file) => file.hunks).length;
  return joined(extent(proposal.files, hunks), evidence);
}

/** `3 of 7 hunks left`; empty where there is none. */
export function waiting(hunks: readonly ReviewHunk[]): string {
  const open = hunks.filter(isOpen).length;
  return hunks.length === 0 ? "" : open === hunks.length ? countHunks(open) : open === 0 ? t("decided") : t("{0} of {1} left", open, countHunks(hunks.length));
}

/** The parts that say something, side by side. */
export function joined(...parts: string[]): string {
  return parts.filter((part) => part !== "").join(" · ");
}

/** *text* as Markdown that shows it as it is, whoever wrote it: nothing in it is a link, an image, an icon or HTML. */
export function asMarkdown(text: string): string {
  // A `$` may begin an icon; a `:` or an `@` may make an address, which becomes a link.
  const escaped = text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/[\\`*_{}[\]()#+\-.!~>|$:@]/g, "\\$&");
  return escaped.replace(/\r?\n|\r/g, "\n\n");
}

/** `adds total to shop/price.py, p3/h1`: a hunk in one line, wherever it is named alone. */
export function nameOf(proposal: ReviewProposal, hunk: ReviewHunk): string {
  return `${proposal.proposalId}/${hunk.hunkId} ${hunk.title}`;
}
