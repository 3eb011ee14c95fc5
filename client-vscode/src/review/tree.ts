/** The view of what waits: proposals, their tasks or files, and hunks, each with its state and what can be done. */

import {
  commands,
  EventEmitter,
  MarkdownString,
  ThemeColor,
  ThemeIcon,
  TreeItem,
  TreeItemCheckboxState,
  TreeItemCollapsibleState,
  Uri,
  window,
  workspace,
} from "vscode";
import { t } from "@vscode/l10n";
import type { Disposable, TreeDataProvider } from "vscode";

import type { ReviewFile, ReviewHunk, ReviewProposal } from "../protocol.ts";
import { fileAt, hunkOf } from "./desk.ts";
import type { Changes, Desk } from "./desk.ts";
import { about } from "./threads.ts";
import type { Target } from "./threads.ts";
import { createTicks, hasBox } from "./ticks.ts";
import type { HunksOf, Ticks } from "./ticks.ts";
import { aboutFile, aboutHunk, aboutProposal, asMarkdown, countHunks, isOpen, joined, openHunks, pathAfter, shortTitle, stateName, waiting } from "./words.ts";

export type Grouping = "files" | "tasks";

/** A row by its place; what it shows is asked of the desk. A place has one row for good, by which VS Code knows it. */
export interface Node {
  readonly kind: "proposal" | "file" | "task" | "hunk";
  readonly proposalId: string;
  /** Of the file; empty for a proposal and a task. */
  readonly path: string;
  /** Of a task, and of a hunk below one; else empty. */
  readonly task: string;
  readonly hunkId: string;
}

export interface Tree extends Disposable {
  group(by: Grouping): void;
  selected(): readonly Node[];
  /** The hunks whose boxes are ticked. */
  ticked(): HunksOf;
  untick(): void;
  /** What a row stands for, when somebody decides about it. */
  targetOf(node: Node): Target;
}

/** No task has this name. */
const NO_TASK = "-";
/** After a decision, the time without another until the counts above it are drawn: while VS Code draws a row with others below it, their buttons do nothing. */
const COUNTED_AFTER_MS = 1_000;

export function createTree(desk: Desk): Tree {
  const changed = new EventEmitter<Node | Node[] | undefined>();
  const rows = new Map<string, Node>();
  const ticks = createTicks();
  let grouping: Grouping = "files";
  let listed = "";
  let prints = new Map<Node, string>();
  let undrawn: Changes[] = [];
  let later: NodeJS.Timeout | undefined;

  function row(kind: Node["kind"], proposalId: string, path = "", task = "", hunkId = ""): Node {
    const key = [kind, proposalId, path, task, hunkId].join("\n");
    const node = rows.get(key) ?? { kind, proposalId, path, task, hunkId };
    rows.set(key, node);
    return node;
  }

  function childrenOf(node: Node | undefined): Node[] {
    if (node === undefined) {
      return desk.now().proposals.map(({ proposalId }) => row("proposal", proposalId));
    }
    const { proposalId } = node;
    const proposal = desk.find(proposalId);
    if (proposal === undefined || node.kind === "hunk") {
      return [];
    }
    if (node.kind === "file") {
      return (fileAt(proposal, node.path)?.hunks ?? []).map(({ hunkId }) => row("hunk", proposalId, node.path, "", hunkId));
    }
    if (node.kind === "task") {
      return inTask(proposal, node.task).map(({ file, hunk }) => row("hunk", proposalId, file.path, node.task, hunk.hunkId));
    }
    if (grouping === "files" || proposal.tasks.length === 0) {
      return proposal.files.map((file) => row("file", proposalId, file.path));
    }
    const tasks = [...proposal.tasks.map(({ taskId }) => taskId), NO_TASK];
    return tasks.filter((task) => inTask(proposal, task).length > 0).map((task) => row("task", proposalId, "", task));
  }

  /** Draws the hunks that read otherwise now at once, and what is counted above them when nothing more is decided; all at once where rows come or go. */
  function redraw(isOther: Changes): void {
    ticks.keepOpen(desk.now().proposals);
    tellCounts();
    const now = printsOfHunks();
    const isSame = now.size === prints.size && [...now.keys()].every((node) => prints.has(node));
    const others = [...now].filter(([node, print]) => prints.get(node) !== print).map(([node]) => node);
    prints = now;
    undrawn.push(isOther);
    clearTimeout(later);
    if (!isSame) {
      redrawAll();
      return;
    }
    if (others.length > 0) {
      changed.fire(others);
    }
    later = setTimeout(redrawAll, COUNTED_AFTER_MS);
  }

  function tellCounts(): void {
    const n = openHunks(desk.now().proposals.flatMap(({ files }) => files)).length;
    tellTicks();
    view.badge = n === 0 ? undefined : { value: n, tooltip: n === 1 ? t("1 hunk of Rolecall waits") : t("{0} hunks of Rolecall wait", n) };
  }

  /** By what each hunk's row is known, below its file or its tasks. */
  function printsOfHunks(): Map<Node, string> {
    const { proposals } = desk.now();
    return new Map(
      proposals.flatMap(({ proposalId, files, tasks }) =>
        files.flatMap(({ path, hunks }) =>
          hunks.flatMap((hunk) => {
            const served = tasks.map(({ taskId }) => taskId).filter((task) => hunk.serves.includes(task));
            const places = grouping === "files" || tasks.length === 0 ? [""] : served.length === 0 ? [NO_TASK] : served;
            return places.map((task) => [row("hunk", proposalId, path, task, hunk.hunkId), JSON.stringify(hunk)] as const);
          }),
        ),
      ),
    );
  }

  function redrawAll(): void {
    const changes = undrawn;
    [undrawn, later] = [[], undefined];
    const { proposals } = desk.now();
    // A row is drawn with all that is below it, so that of a proposal is only where it reads otherwise itself.
    const list = proposals.map((proposal) => `${proposal.proposalId} ${aboutProposal(proposal)}`).join("\n");
    if (list !== listed || grouping === "tasks") {
      listed = list;
      changed.fire(undefined);
      return;
    }
    const isOther: Changes = (...place) => changes.some((change) => change(...place));
    const files = proposals.flatMap(({ proposalId, files }) =>
      files.filter((file) => isOther(proposalId, file.path)).map((file) => row("file", proposalId, file.path)),
    );
    changed.fire(files);
  }

  /** Says beside the view's title how many wait and are ticked, and to the menus whether any is. */
  function tellTicks(): void {
    const { proposals } = desk.now();
    const n = Object.values(ticks.of(proposals)).flat().length;
    view.description = joined(n > 0 ? t("{0} ticked", n) : "", waiting(proposals.flatMap(({ files }) => files).flatMap((file) => file.hunks)));
    void commands.executeCommand("setContext", "rolecall.review.ticked", n > 0);
  }

  /** Ticks or unticks rows; VS Code itself does so with the boxes above and below them. */
  function tick(items: readonly [Node, TreeItemCheckboxState][]): void {
    for (const [node, state] of items) {
      for (const { hunkId } of hunksOf(desk, node).filter(hasBox)) {
        ticks.put(node.proposalId, hunkId, state === TreeItemCheckboxState.Checked);
      }
    }
    tellTicks();
    // A hunk that serves two tasks has two rows, and both boxes show the same tick.
    if (grouping === "tasks") {
      changed.fire(undefined);
    }
  }

  const getTreeItem = (node: Node): TreeItem => withBox(itemOf(desk, node), node, hunksOf(desk, node).filter(hasBox), ticks);
  const provider: TreeDataProvider<Node> = { onDidChangeTreeData: changed.event, getChildren: childrenOf, getTreeItem };
  const view = window.createTreeView("rolecall.review", { treeDataProvider: provider, canSelectMany: true, showCollapseAll: true });
  const listening = [desk.onDidChange(redraw), view.onDidChangeCheckboxState(({ items }) => tick(items))];
  return {
    group(by) {
      grouping = by;
      changed.fire(undefined);
    },
    selected: () => view.selection,
    ticked: () => ticks.of(desk.now().proposals),
    untick() {
      ticks.clear();
      tellTicks();
      changed.fire(undefined);
    },
    targetOf(node) {
      const { proposalId, path, hunkId } = node;
      const ofTask = node.kind === "task" ? hunksOf(desk, node).filter(isOpen) : [];
      const hunkIds = hunkId === "" ? ofTask.map((hunk) => hunk.hunkId) : [hunkId];
      return { proposalId, path, hunkIds };
    },
    dispose() {
      clearTimeout(later);
      listening.forEach((one) => void one.dispose());
      view.dispose();
      changed.dispose();
    },
  };
}

/** The hunks that a row stands for: all that are below it. */
function hunksOf(desk: Desk, node: Node): readonly ReviewHunk[] {
  const proposal = desk.find(node.proposalId);
  if (proposal === undefined) {
    return [];
  }
  if (node.kind === "task") {
    return inTask(proposal, node.task).map(({ hunk }) => hunk);
  }
  const files = node.kind === "proposal" ? proposal.files : proposal.files.filter((file) => file === fileAt(proposal, node.path));
  return files.flatMap((file) => file.hunks).filter((hunk) => node.kind !== "hunk" || hunk.hunkId === node.hunkId);
}

/** *item* with a box, ticked once each of *hunks* is; without one where there are none. */
function withBox(item: TreeItem, node: Node, hunks: readonly ReviewHunk[], ticks: Ticks): TreeItem {
  if (hunks.length > 0) {
    const isTicked = hunks.every((hunk) => ticks.has(node.proposalId, hunk.hunkId));
    const what = node.kind === "hunk" ? `${node.proposalId}/${node.hunkId}` : t("{0} of {1}", countHunks(hunks.length), node.proposalId);
    item.checkboxState = {
      state: isTicked ? TreeItemCheckboxState.Checked : TreeItemCheckboxState.Unchecked,
      tooltip: t("Tick {0}, to accept or reject all that is ticked", what),
      accessibilityInformation: { label: t("Tick {0}", what) },
    };
  }
  return item;
}

function inTask(proposal: ReviewProposal, task: string): { file: ReviewFile; hunk: ReviewHunk }[] {
  const known = proposal.tasks.map(({ taskId }) => taskId);
  const isIn = (hunk: ReviewHunk): boolean =>
    task === NO_TASK ? !hunk.serves.some((name) => known.includes(name)) : hunk.serves.includes(task);
  return proposal.files.flatMap((file) => file.hunks.filter(isIn).map((hunk) => ({ file, hunk })));
}

function itemOf(desk: Desk, node: Node): TreeItem {
  const proposal = desk.find(node.proposalId);
  const file = proposal && fileAt(proposal, node.path);
  const hunk = file && hunkOf(file, node.hunkId);
  if (proposal !== undefined && node.kind === "proposal") {
    return proposalItem(proposal);
  }
  if (proposal !== undefined && node.kind === "task") {
    return taskItem(proposal, node.task);
  }
  if (proposal === undefined || file === undefined || (node.kind === "hunk" && hunk === undefined)) {
    return new TreeItem("");
  }
  return hunk === undefined ? fileItem(proposal, file) : hunkItem(proposal, file, hunk, node.task);
}

function proposalItem(proposal: ReviewProposal): TreeItem {
  const item = new TreeItem(proposal.title, TreeItemCollapsibleState.Expanded);
  item.id = proposal.proposalId;
  item.description = joined(proposal.proposalId, folderOf(proposal), aboutProposal(proposal));
  item.iconPath = new ThemeIcon(proposal.evidence.misfit === "" ? "git-pull-request" : "git-pull-request-draft");
  item.contextValue = "proposal open";
  item.tooltip = proposalTooltip(proposal);
  return item;
}

/** The name of the folder that *proposal* is for, where a window has several. */
function folderOf(proposal: ReviewProposal): string {
  const isOneOfSeveral = (workspace.workspaceFolders?.length ?? 0) > 1;
  return isOneOfSeveral ? (workspace.getWorkspaceFolder(Uri.parse(proposal.root))?.name ?? "") : "";
}

function proposalTooltip(proposal: ReviewProposal): MarkdownString {
  const text = new MarkdownString(undefined, true);
  text.appendMarkdown(`**${asMarkdown(proposal.title)}**`);
  for (const words of [proposal.evidence.misfit, ...proposal.evidence.lines, proposal.rationale]) {
    if (words !== "") {
      text.appendMarkdown(`\n\n${asMarkdown(words)}`);
    }
  }
  return text;
}

function fileItem(proposal: ReviewProposal, file: ReviewFile): TreeItem {
  const open = openHunks([file]).length;
  const state = open > 0 ? TreeItemCollapsibleState.Expanded : TreeItemCollapsibleState.Collapsed;
  const item = new TreeItem(Uri.joinPath(Uri.parse(proposal.root), pathAfter(file)), state);
  item.id = `${proposal.proposalId}/files/${file.path}`;
  item.iconPath = ThemeIcon.File;
  item.description = aboutFile(file);
  item.tooltip = `${pathAfter(file)}${file.guarded === "" ? "" : `\n${t("Guarded: {0}", file.guarded)}`}`;
  item.accessibilityInformation = { label: `${pathAfter(file)}, ${item.description}` };
  item.contextValue = open > 0 ? "file open" : "file";
  item.command = { command: "rolecall.review.show", title: t("Open"), arguments: [{ proposalId: proposal.proposalId, path: file.path, hunkIds: [] }] };
  return item;
}

function taskItem(proposal: ReviewProposal, task: string): TreeItem {
  const open = inTask(proposal, task).filter(({ hunk }) => isOpen(hunk)).length;
  const title = proposal.tasks.find(({ taskId }) => taskId === task)?.title ?? t("Of no task");
  const item = new TreeItem(title, TreeItemCollapsibleState.Expanded);
  item.id = `${proposal.proposalId}/tasks/${task}`;
  item.iconPath = new ThemeIcon("tasklist");
  item.description = open > 0 ? countHunks(open) : t("decided");
  item.contextValue = open > 0 ? "task open" : "task";
  return item;
}

/** A hunk that nobody has looked at yet has its box alone. */
const ICONS: Partial<Record<ReviewHunk["state"], ThemeIcon>> = {
  edited: new ThemeIcon("edit"),
  accepted: new ThemeIcon("pass-filled", new ThemeColor("charts.green")),
  rejected: new ThemeIcon("circle-slash"),
  stale: new ThemeIcon("warning", new ThemeColor("list.warningForeground")),
};

function hunkItem(proposal: ReviewProposal, file: ReviewFile, hunk: ReviewHunk, task: string): TreeItem {
  const item = new TreeItem(task === "" ? shortTitle(file, hunk) : hunk.title);
  item.id = `${proposal.proposalId}/${hunk.hunkId} ${task}`;
  const icon = ICONS[hunk.state];
  if (icon !== undefined) {
    item.iconPath = icon;
  }
  item.description = aboutHunk(hunk);
  item.tooltip = about(proposal, file, hunk);
  item.contextValue = `hunk ${isOpen(hunk) ? (hunk.state === "stale" ? "stale" : "open") : "decided"}`;
  item.accessibilityInformation = { label: `${hunk.title}, ${hunk.hunkId}, ${stateName(hunk)}` };
  const target = { proposalId: proposal.proposalId, path: file.path, hunkIds: [hunk.hunkId] };
  item.command = { command: "rolecall.review.show", title: t("Open"), arguments: [target] };
  return item;
}
