/** The commands of the review: decide about what is pointed at, walk from hunk to hunk, open, undo. */

import { t } from "@vscode/l10n";
import { commands, Uri, window, workspace } from "vscode";
import type { CommentReply, CommentThread, Disposable } from "vscode";

import type { ReviewHunk, ReviewProposal } from "../protocol.ts";
import { asNotice } from "../setup/plainText.ts";
import { fileAt, hunkOf } from "./desk.ts";
import type { Desk } from "./desk.ts";
import { addressOf } from "./files.ts";
import { isTabOf, openFile, openHunk, openProposal } from "./opening.ts";
import { stations, walk } from "./order.ts";
import { hereIn } from "./places.ts";
import type { Grouping, Node, Tree } from "./tree.ts";
import type { Target, Threads } from "./threads.ts";
import type { HunksOf } from "./ticks.ts";
import { openHunks } from "./words.ts";

/** What a command was called with: a row (and all rows that are selected), a target of ours, an editor's address, or nothing. */
type Pointed = Node | Target | CommentThread | Uri | undefined;
type Elsewhere = Exclude<Pointed, CommentThread | Node>;
type Verdict = "accept" | "reject";

/** The commands that stand beside rows. */
const OF_A_ROW = new Set(["accept", "reject", "rejectBecause", "revise", "why"]);

export function registerActions(desk: Desk, tree: Tree, threads: Threads): Disposable[] {
  async function decide(verdict: Verdict, pointed: Pointed, rows?: readonly Node[]): Promise<void> {
    const many = pointed === undefined || (rows?.length ?? 0) > 1 ? rows : undefined;
    const [alone] = many ?? [];
    if (many === undefined || many.length === 1) {
      await execute(verdict, await at(pointed ?? alone));
    } else {
      await executeTogether(verdict, hunksIn(desk, verdict, many.map(tree.targetOf)));
    }
  }

  async function at(pointed: Pointed): Promise<Target | undefined> {
    if (pointed !== undefined && "comments" in pointed) {
      return threads.targetOf(pointed);
    }
    return pointed !== undefined && "kind" in pointed ? tree.targetOf(pointed) : targetOf(desk, pointed);
  }

  async function step(by: 1 | -1): Promise<void> {
    const next = walk(stations(desk.now().proposals), await hereIn(desk, window.activeTextEditor), by);
    if (next === undefined) {
      void window.showInformationMessage(t("Nothing waits to be reviewed."));
      return;
    }
    await openHunk(desk, next.proposal, next.file, next.hunk);
  }

  async function show(pointed: Pointed): Promise<void> {
    const target = (pointed === undefined ? nextToOpen(desk) : undefined) ?? (await at(pointed));
    const proposal = (target && desk.find(target.proposalId)) ?? desk.now().proposals[0];
    if (proposal === undefined) {
      void window.showInformationMessage(t("Nothing waits to be reviewed."));
      return;
    }
    const file = target === undefined ? undefined : fileAt(proposal, target.path);
    const hunk = file && target?.hunkIds[0] !== undefined ? hunkOf(file, target.hunkIds[0]) : undefined;
    if (file === undefined) {
      await openProposal(proposal);
    } else if (hunk === undefined) {
      await openFile(proposal, file);
    } else {
      await openHunk(desk, proposal, file, hunk);
    }
  }

  async function revise(pointed: Pointed): Promise<void> {
    const target = await at(pointed);
    if (target === undefined) {
      return;
    }
    const { proposalId, hunkIds: [hunkId, another] } = target;
    await (hunkId === undefined || another !== undefined
      ? commands.executeCommand("rolecall.proposal.revise", { proposalId })
      : commands.executeCommand("rolecall.hunk.revise", { proposalId, hunkId, ask: true }));
  }

  async function why(pointed: Pointed): Promise<void> {
    const target = await at(pointed);
    if (target !== undefined) {
      threads.unfold(target);
    }
  }

  /** What somebody wrote below a hunk: the reason of a rejection, or what shall be different. */
  async function answer(command: "rolecall.hunk.reject" | "rolecall.hunk.revise", { thread, text }: CommentReply): Promise<void> {
    const target = threads.targetOf(thread);
    if (target !== undefined && text.trim() !== "") {
      const words = command === "rolecall.hunk.reject" ? { reason: text } : { brief: text };
      await commands.executeCommand(command, { proposalId: target.proposalId, hunkId: target.hunkIds[0], ...words });
    }
  }

  const group = (by: Grouping) => async (): Promise<void> => {
    tree.group(by);
    await commands.executeCommand("setContext", "rolecall.review.byTask", by === "tasks");
  };
  const made: Record<string, (...given: never[]) => unknown> = {
    accept: (pointed: Pointed, rows?: readonly Node[]) => decide("accept", pointed, rows),
    reject: (pointed: Pointed, rows?: readonly Node[]) => decide("reject", pointed, rows),
    acceptSelected: () => decide("accept", undefined, tree.selected()),
    rejectSelected: () => decide("reject", undefined, tree.selected()),
    acceptTicked: () => executeTogether("accept", tree.ticked()),
    rejectTicked: () => executeTogether("reject", tree.ticked()),
    untick: () => tree.untick(),
    acceptFile: async (pointed: Elsewhere) => decide("accept", await wholeFile(desk, pointed)),
    rejectFile: async (pointed: Elsewhere) => decide("reject", await wholeFile(desk, pointed)),
    acceptProposal: () => decide("accept", wholeProposal(desk)),
    rejectProposal: () => decide("reject", wholeProposal(desk)),
    rejectBecause: async (pointed: Pointed) => execute("reject", await at(pointed), { ask: true }),
    show,
    revise,
    why,
    answerReject: (reply: CommentReply) => answer("rolecall.hunk.reject", reply),
    answerRevise: (reply: CommentReply) => answer("rolecall.hunk.revise", reply),
    next: () => step(1),
    previous: () => step(-1),
    byFile: group("files"),
    byTask: group("tasks"),
  };
  return Object.entries(made).map(([name, run]) =>
    commands.registerCommand(`rolecall.review.${name}`, OF_A_ROW.has(name) ? unlessLost(run) : run),
  );
}

/** Returns *run* for all calls but one by a row that VS Code was just drawing anew and no longer knows: that is none without a row, which is about the hunk at the cursor. */
function unlessLost(run: (...given: never[]) => unknown): (...given: never[]) => unknown {
  return (...given) => {
    const [pointed]: readonly unknown[] = given;
    if (given.length > 0 && (pointed === undefined || pointed === null)) {
      void window.showInformationMessage(t("The view was just being drawn anew, and nothing was done. Press it once more."));
      return undefined;
    }
    return run(...given);
  };
}

async function execute(verdict: Verdict, target: Target | undefined, more: object = {}): Promise<void> {
  if (target === undefined) {
    void window.showInformationMessage(t("There is no hunk here that waits."));
    return;
  }
  const { proposalId, path, hunkIds } = target;
  const noun = hunkIds.length > 0 ? "hunk" : path !== "" ? "file" : "proposal";
  const what = { hunk: { hunkIds }, file: { path }, proposal: {} }[noun];
  await commands.executeCommand(`rolecall.${noun}.${verdict}`, { proposalId, ...what, ...more });
}

/** What *pointed* stands for; without it the hunk at the cursor. */
async function targetOf(desk: Desk, pointed: Elsewhere): Promise<Target | undefined> {
  if (pointed !== undefined && "hunkIds" in pointed) {
    return pointed;
  }
  const here = await hereIn(desk, window.activeTextEditor);
  return here?.hunkId === undefined ? undefined : { proposalId: here.proposalId, path: here.path, hunkIds: [here.hunkId] };
}

/** The file that *pointed* or the active editor shows. */
async function wholeFile(desk: Desk, pointed: Elsewhere): Promise<Target | undefined> {
  if (pointed instanceof Uri) {
    const address = addressOf(pointed);
    return address && { ...address, hunkIds: [] };
  }
  const target = await targetOf(desk, pointed);
  return target && { ...target, hunkIds: [] };
}

/** The proposal of the tab that is open, else of the active editor. */
function wholeProposal(desk: Desk): Target | undefined {
  const proposal = openedIn(desk);
  return proposal && { proposalId: proposal.proposalId, path: "", hunkIds: [] };
}

/** From a diff of a proposal the whole of it, and from that the next proposal. */
function nextToOpen(desk: Desk): Target | undefined {
  const { proposals } = desk.now();
  const here = openedIn(desk);
  const isWhole = here !== undefined && isTabOf(window.tabGroups.activeTabGroup.activeTab, here);
  const next = here && isWhole ? proposals[(proposals.indexOf(here) + 1) % proposals.length] : here;
  return next && { proposalId: next.proposalId, path: "", hunkIds: [] };
}

function openedIn(desk: Desk): ReviewProposal | undefined {
  const tab = window.tabGroups.activeTabGroup.activeTab;
  const address = window.activeTextEditor && addressOf(window.activeTextEditor.document.uri);
  return desk.now().proposals.find((one) => one.proposalId === address?.proposalId || isTabOf(tab, one));
}

/** The hunks of *targets* that wait, by their proposal. A hunk that is off, or lost its place, is accepted with no others. */
function hunksIn(desk: Desk, verdict: Verdict, targets: readonly Target[]): HunksOf {
  const found: Record<string, string[]> = {};
  for (const { proposalId, path, hunkIds } of targets) {
    const files = desk.find(proposalId)?.files.filter((file) => path === "" || path === file.path) ?? [];
    const isMeant = (hunk: ReviewHunk): boolean => (hunkIds.length > 0 ? hunkIds.includes(hunk.hunkId) : verdict === "reject" || !hunk.off);
    const waiting = openHunks(files).filter((hunk) => isMeant(hunk) && (verdict === "reject" || hunk.state !== "stale"));
    found[proposalId] = [...new Set([...(found[proposalId] ?? []), ...waiting.map(({ hunkId }) => hunkId)])];
  }
  return Object.fromEntries(Object.entries(found).filter(([, hunkIds]) => hunkIds.length > 0));
}

/** Decides about *hunks*, of however many proposals, at once: one question, and one undo takes them back. */
async function executeTogether(verdict: Verdict, hunks: HunksOf): Promise<void> {
  const [only, ...others] = Object.entries(hunks);
  if (only === undefined || others.length === 0) {
    await execute(verdict, only && { proposalId: only[0], path: "", hunkIds: only[1] });
    return;
  }
  await commands.executeCommand(`rolecall.all.${verdict}`, { hunks });
}

/** Saves what accepted hunks changed, once somebody asks for it. */
export async function offerToSave(proposal: ReviewProposal): Promise<void> {
  const files = new Set(proposal.files.flatMap((file) => [file.path, file.newPath]).filter((path) => path !== ""));
  const uris = new Set([...files].map((path) => Uri.joinPath(Uri.parse(proposal.root), path).toString()));
  const unsaved = workspace.textDocuments.filter((document) => document.isDirty && uris.has(document.uri.toString()));
  if (unsaved.length === 0) {
    return;
  }
  const save = unsaved.length === 1 ? t("Save File") : t("Save {0} Files", unsaved.length);
  const said = t("{0} is decided. What you accepted is not saved yet.", proposal.proposalId);
  if ((await window.showInformationMessage(asNotice(said), save)) === save) {
    await Promise.all(unsaved.map((document) => document.save()));
  }
}
