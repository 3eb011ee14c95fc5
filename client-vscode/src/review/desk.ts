/** What waits to be decided, as the server has it; every view draws this, and is told when it is something else. */

import { EventEmitter } from "vscode";
import type { Disposable, Event, LogOutputChannel } from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";

import { ReviewNotification, ReviewRequest, ReviewTextRequest } from "../protocol.ts";
import type { ReviewFile, ReviewHunk, ReviewProposal, ReviewResult, ReviewTextResult } from "../protocol.ts";
import type { Server } from "../server.ts";

const NOTHING: ReviewResult = { proposals: [], undo: null };

/** What became different: a file of a proposal by its path, or without one anything of the proposal. */
export type Changes = (proposalId: string, path?: string) => boolean;

export interface Desk extends Disposable {
  /** What waits; nothing while no server runs. */
  now(): ReviewResult;
  readonly onDidChange: Event<Changes>;
  /** Both sides of a file of a proposal, as they are now; asked once until something changes. */
  sides(proposalId: string, path: string): Promise<ReviewTextResult>;
  /** Has both sides of every file asked for anew. */
  forget(): void;
  /** What a proposal's id names; undefined once it is decided. */
  find(proposalId: string): ReviewProposal | undefined;
}

export function createDesk(server: Server, log: LogOutputChannel): Desk {
  const changed = new EventEmitter<Changes>();
  let review = NOTHING;
  let prints = printsOf(NOTHING);
  let asked = new Map<string, Promise<ReviewTextResult>>();
  let turn = 0;

  async function ask(client: LanguageClient): Promise<void> {
    turn += 1;
    const mine = turn;
    try {
      const answer = await client.sendRequest(ReviewRequest, {});
      // Answers may overtake each other; only that to the latest question counts.
      if (mine === turn) {
        const now = printsOf(answer);
        const isOther = comparison(prints, now);
        [review, prints] = [answer, now];
        asked = new Map([...asked].filter(([key]) => !isOther(...(key.split("\n") as [string, string]))));
        changed.fire(isOther);
      }
    } catch (error) {
      log.warn(`rolecall/review: ${String(error)}`);
    }
  }

  const started = server.onDidStart((client) => {
    client.onNotification(ReviewNotification, () => ask(client));
    void ask(client);
  });
  return {
    now: () => review,
    onDidChange: changed.event,
    find: (proposalId) => review.proposals.find((one) => one.proposalId === proposalId),
    forget() {
      asked = new Map();
    },
    sides(proposalId, path) {
      const key = `${proposalId}\n${path}`;
      const answer = asked.get(key) ?? server.ready().then((client) => client.sendRequest(ReviewTextRequest, { proposalId, path }));
      asked.set(key, answer);
      answer.catch(() => asked.delete(key));
      return answer;
    },
    dispose() {
      started.dispose();
      changed.dispose();
    },
  };
}

/** By what each proposal, and each file of one by either of its names, is known. */
function printsOf({ proposals }: ReviewResult): Map<string, string> {
  return new Map(
    proposals.flatMap((proposal) => {
      const { files, ...whole } = proposal;
      // What was checked is shown with each hunk, so each file reads otherwise when that changes.
      const known = files.map((file) => JSON.stringify([file, proposal.evidence]));
      const ofFiles = files.flatMap(({ path, newPath }, n) => [path, newPath].map((name) => [`${proposal.proposalId}\n${name}`, known[n] ?? ""] as const));
      return [[proposal.proposalId, JSON.stringify([whole, known])] as const, ...ofFiles];
    }),
  );
}

/** What is different *now*. */
function comparison(before: ReadonlyMap<string, string>, now: ReadonlyMap<string, string>): Changes {
  return (proposalId, path) => {
    const key = path === undefined ? proposalId : `${proposalId}\n${path}`;
    return before.get(key) !== now.get(key);
  };
}

/** The file of a proposal that has *path*, by its old name or its new one. */
export function fileAt(proposal: ReviewProposal, path: string): ReviewFile | undefined {
  return proposal.files.find((file) => path === file.path || (path !== "" && path === file.newPath));
}

export function hunkOf(file: ReviewFile, hunkId: string): ReviewHunk | undefined {
  return file.hunks.find((hunk) => hunk.hunkId === hunkId);
}
