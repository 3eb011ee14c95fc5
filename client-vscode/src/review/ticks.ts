/** The hunks whose boxes are ticked in the view, to be decided together; a choice of rows, which ends with the decision. */

import type { ReviewHunk, ReviewProposal } from "../protocol.ts";
import { isOpen } from "./words.ts";

/** The hunks of proposals, by the ids of both. */
export type HunksOf = Readonly<Record<string, readonly string[]>>;

export interface Ticks {
  has(proposalId: string, hunkId: string): boolean;
  put(proposalId: string, hunkId: string, isTicked: boolean): void;
  clear(): void;
  /** Unticks what can be ticked no longer in *proposals*. */
  keepOpen(proposals: readonly ReviewProposal[]): void;
  /** What is ticked of *proposals*, in the order of the view. */
  of(proposals: readonly ReviewProposal[]): HunksOf;
}

/** Return whether *hunk* has a box: it waits, and has a place where it could be accepted. */
export function hasBox(hunk: ReviewHunk): boolean {
  return isOpen(hunk) && hunk.state !== "stale";
}

export function createTicks(): Ticks {
  let ticked = new Set<string>();
  const keyOf = (proposalId: string, hunkId: string): string => `${proposalId}/${hunkId}`;
  const of = (proposals: readonly ReviewProposal[]): HunksOf => {
    const each = proposals.map(({ proposalId, files }): [string, string[]] => {
      const boxes = files.flatMap((file) => file.hunks).filter(hasBox);
      return [proposalId, boxes.map(({ hunkId }) => hunkId).filter((hunkId) => ticked.has(keyOf(proposalId, hunkId)))];
    });
    return Object.fromEntries(each.filter(([, hunkIds]) => hunkIds.length > 0));
  };
  return {
    has: (proposalId, hunkId) => ticked.has(keyOf(proposalId, hunkId)),
    put(proposalId, hunkId, isTicked) {
      ticked[isTicked ? "add" : "delete"](keyOf(proposalId, hunkId));
    },
    clear: () => ticked.clear(),
    keepOpen(proposals) {
      ticked = new Set(Object.entries(of(proposals)).flatMap(([proposalId, hunkIds]) => hunkIds.map((hunkId) => keyOf(proposalId, hunkId))));
    },
    of,
  };
}
