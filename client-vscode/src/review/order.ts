/** The hunks that wait, in the order in which one walks over them: as the view lists them. */

import type { ReviewFile, ReviewHunk, ReviewProposal } from "../protocol.ts";
import { isOpen } from "./words.ts";

export interface Station {
  readonly proposal: ReviewProposal;
  readonly file: ReviewFile;
  readonly hunk: ReviewHunk;
}

/** Every hunk that waits. */
export function stations(proposals: readonly ReviewProposal[]): Station[] {
  return proposals.flatMap((proposal) =>
    proposal.files.flatMap((file) => file.hunks.filter(isOpen).map((hunk) => ({ proposal, file, hunk }))),
  );
}

/** Where somebody is: at a hunk, or only in a file of a proposal. */
export interface Here {
  readonly proposalId: string;
  readonly path: string;
  /** The hunk at or before the cursor; undefined above the first. */
  readonly hunkId?: string | undefined;
  /** Whether the cursor is on it, and not below. */
  readonly on?: boolean;
}

/** The next hunk (*step* 1) or the one before (−1), from *here*; round at both ends; undefined where none waits. */
export function walk(all: readonly Station[], here: Here | undefined, step: 1 | -1): Station | undefined {
  const inFile = (one: Station): boolean => one.proposal.proposalId === here?.proposalId && one.file.path === here.path;
  const at = all.findIndex((one) => inFile(one) && one.hunk.hunkId === here?.hunkId);
  if (at >= 0) {
    const by = step === -1 && here?.on === false ? 0 : step;
    return all[(at + by + all.length) % all.length];
  }
  const first = all.findIndex(inFile);
  if (first < 0) {
    return step === 1 ? all[0] : all.at(-1);
  }
  return all[(step === 1 ? first : first - 1 + all.length) % all.length];
}
