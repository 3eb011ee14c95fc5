/** The places of one column as a tree: folders, files, symbols. Its groups are opened as far as a reader can take in. */

import type { GraphNode } from "../protocol.ts";

export interface Leaf {
  readonly id: string;
  readonly label: string;
  /** The number of its node. */
  readonly node: number;
}

export interface Group {
  readonly id: string;
  readonly label: string;
  readonly children: readonly Part[];
  /** The numbers of all nodes in it. */
  readonly nodes: readonly number[];
}

export type Part = Group | Leaf;

/** What the reader opened and closed; about all other groups `openGroups` decides. */
export interface Choices {
  readonly opened: ReadonlySet<string>;
  readonly closed: ReadonlySet<string>;
}

/** More children than this are put into groups of their own, by the alphabet. */
const MOST_CHILDREN = 40;

export function isGroup(part: Part): part is Group {
  return "children" in part;
}

interface Folder {
  readonly folders: Map<string, Folder>;
  readonly leaves: Leaf[];
}

/** The *numbers* of *nodes* as a tree; ids begin with *prefix*, and stay the same while the place does. */
export function groupsOf(prefix: string, nodes: readonly GraphNode[], numbers: readonly number[]): readonly Part[] {
  const root: Folder = { folders: new Map(), leaves: [] };
  const hasSymbols = numbers.some((number) => nodes[number]?.kind !== "module");
  for (const number of numbers) {
    const node = nodes[number];
    if (node !== undefined) {
      const folders = node.path.split("/");
      const file = hasSymbols ? undefined : folders.pop();
      const label = file ?? (node.kind === "module" ? "(module)" : node.name);
      folderAt(root, folders).leaves.push({ id: `${prefix}:${node.path}::${node.symbol}`, label, node: number });
    }
  }
  return partsOf(prefix, root, "");
}

function folderAt(root: Folder, names: readonly string[]): Folder {
  let folder = root;
  for (const name of names) {
    let next = folder.folders.get(name);
    if (next === undefined) {
      next = { folders: new Map(), leaves: [] };
      folder.folders.set(name, next);
    }
    folder = next;
  }
  return folder;
}

function partsOf(prefix: string, folder: Folder, path: string): readonly Part[] {
  const groups = [...folder.folders].map(([name, inner]) => groupOf(prefix, inner, name, `${path}${name}/`));
  const parts: Part[] = [...groups, ...folder.leaves];
  parts.sort((one, other) => compare(one.label, other.label));
  return inBatches(`${prefix}:${path}`, parts);
}

/** A folder as a group; one that holds nothing but another group is drawn as one with it. */
function groupOf(prefix: string, folder: Folder, label: string, path: string): Group {
  const children = partsOf(prefix, folder, path);
  const [only] = children;
  if (children.length === 1 && only !== undefined && isGroup(only)) {
    return { ...only, label: `${label}/${only.label}` };
  }
  return { id: `${prefix}:${path}`, label, children, nodes: children.flatMap(nodesOf) };
}

function inBatches(id: string, parts: readonly Part[]): readonly Part[] {
  if (parts.length <= MOST_CHILDREN) {
    return parts;
  }
  const batches: Group[] = [];
  // All of about one size, so that the last is not left with a single part.
  const size = Math.ceil(parts.length / Math.ceil(parts.length / MOST_CHILDREN));
  for (let start = 0; start < parts.length; start += size) {
    const children = parts.slice(start, start + size);
    const label = `${children[0]?.label ?? ""} … ${children.at(-1)?.label ?? ""}`;
    batches.push({ id: `${id}#${start}`, label, children, nodes: children.flatMap(nodesOf) });
  }
  return batches;
}

export function nodesOf(part: Part): readonly number[] {
  return isGroup(part) ? part.nodes : [part.node];
}

/** The ids of the groups that are open: those with few children first, until there are *most* rows; then as chosen. */
export function openGroups(parts: readonly Part[], most: number, choices: Choices): ReadonlySet<string> {
  const open = new Set<string>();
  const waiting = parts.filter(isGroup);
  let rows = parts.length;
  for (;;) {
    const next = waiting
      .filter((group) => !choices.closed.has(group.id))
      .sort((one, other) => cost(one, choices) - cost(other, choices) || compare(one.id, other.id))[0];
    // The cheapest comes first: where that one does not fit, none does.
    if (next === undefined || (rows + next.children.length > most && !choices.opened.has(next.id))) {
      return open;
    }
    waiting.splice(waiting.indexOf(next), 1, ...next.children.filter(isGroup));
    open.add(next.id);
    rows += next.children.length;
  }
}

/** The rows that opening a group costs; what the reader opened costs nothing. */
function cost(group: Group, choices: Choices): number {
  return choices.opened.has(group.id) ? 0 : group.children.length;
}

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
