/** Where the boxes of a graph are drawn: a column for each step from the centre, in it a tree that is opened in part. */

import type { GraphNode, GraphResult } from "../protocol.ts";
import { groupsOf, isGroup, nodesOf, openGroups } from "./groups.ts";
import type { Choices, Part } from "./groups.ts";

export interface Box {
  readonly id: string;
  readonly label: string;
  /** Steps from the centre; below zero what depends on it. */
  readonly column: number;
  /** How deep it is in the tree of its column. */
  readonly depth: number;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  /** The numbers of the nodes that it stands for. */
  readonly nodes: readonly number[];
  /** Whether it is a group, and open. */
  readonly group: "open" | "closed" | undefined;
}

export interface Line {
  readonly from: string;
  readonly to: string;
  readonly count: number;
  readonly certain: boolean;
}

export interface Layout {
  readonly boxes: readonly Box[];
  readonly lines: readonly Line[];
  readonly width: number;
  readonly height: number;
}

export const ROW = 28;
export const BOX_HEIGHT = 22;
const MOST_ROWS = 24;
const NARROWEST = 80;
const WIDEST = 300;
const GAP = 56;
const INDENT = 14;
const MARGIN = 24;
const CHARACTER = 7.2;

interface Row {
  readonly part: Part;
  readonly depth: number;
  readonly isOpen: boolean;
}

/** The layout of what *isShown* lets through, with the groups open that the reader chose. */
export function layOut(answer: GraphResult, choices: Choices, isShown: (node: GraphNode) => boolean = () => true): Layout {
  const columns = columnsOf(answer, isShown);
  const order = barycenters(answer);
  const rows = new Map<number, readonly Row[]>();
  // From the centre outwards: the order in a column follows the rows of the column before it.
  for (const column of [...columns.keys()].sort((one, other) => Math.abs(one) - Math.abs(other) || one - other)) {
    const parts = groupsOf(String(column), answer.nodes, columns.get(column) ?? []);
    const open = openGroups(parts, MOST_ROWS, choices);
    const found = rowsOf(parts, open, (part) => order.of(column, part), 0);
    order.note(found);
    rows.set(column, found);
  }
  const boxes = placed(rows);
  const right = Math.max(0, ...boxes.map((box) => box.x + box.width));
  const bottom = Math.max(0, ...boxes.map((box) => box.y + BOX_HEIGHT));
  return { boxes, lines: linesOf(answer, boxes), width: right + MARGIN, height: bottom + MARGIN };
}

function columnsOf(answer: GraphResult, isShown: (node: GraphNode) => boolean): ReadonlyMap<number, number[]> {
  const columns = new Map<number, number[]>();
  answer.nodes.forEach((node, number) => {
    if (number === answer.center || isShown(node)) {
      columns.set(node.distance, [...(columns.get(node.distance) ?? []), number]);
    }
  });
  return columns;
}

/** What brings connected rows near to each other: the mean of the rows that a part is connected with, a step nearer. */
function barycenters(answer: GraphResult): {
  of(column: number, part: Part): number;
  note(rows: readonly Row[]): void;
} {
  const neighbours = new Map<number, number[]>();
  for (const { from, to } of answer.edges) {
    neighbours.set(from, [...(neighbours.get(from) ?? []), to]);
    neighbours.set(to, [...(neighbours.get(to) ?? []), from]);
  }
  const rowOf = new Map<number, number>();
  return {
    of(column, part) {
      const nearer = column - Math.sign(column);
      const found = nodesOf(part)
        .flatMap((node) => neighbours.get(node) ?? [])
        .filter((node) => answer.nodes[node]?.distance === nearer)
        .map((node) => rowOf.get(node) ?? 0);
      return found.length === 0 ? 0 : found.reduce((sum, row) => sum + row, 0) / found.length;
    },
    note(rows) {
      rows.forEach(({ part, isOpen }, row) => {
        if (!isOpen) {
          nodesOf(part).forEach((node) => rowOf.set(node, row));
        }
      });
    },
  };
}

function rowsOf(parts: readonly Part[], open: ReadonlySet<string>, weigh: (part: Part) => number, depth: number): readonly Row[] {
  const weighed = parts.map((part) => ({ part, weight: weigh(part) }));
  // The sort is stable: parts of equal weight stay in the order of the alphabet.
  weighed.sort((one, other) => one.weight - other.weight);
  return weighed.flatMap(({ part }) => {
    const isOpen = isGroup(part) && open.has(part.id);
    const inside = isOpen ? rowsOf(part.children, open, weigh, depth + 1) : [];
    return [{ part, depth, isOpen }, ...inside];
  });
}

/** The boxes of all columns from left to right; shorter columns stand beside the middle of the tallest. */
function placed(rows: ReadonlyMap<number, readonly Row[]>): readonly Box[] {
  const tallest = Math.min(MOST_ROWS, Math.max(0, ...[...rows.values()].map((column) => column.length)));
  let x = MARGIN;
  const boxes: Box[] = [];
  for (const column of [...rows.keys()].sort((one, other) => one - other)) {
    const inColumn = rows.get(column) ?? [];
    const width = Math.min(WIDEST, Math.max(NARROWEST, ...inColumn.map(widthOf)));
    const top = MARGIN + Math.max(0, (tallest - inColumn.length) / 2) * ROW;
    inColumn.forEach((row, n) => boxes.push(boxOf(row, column, x, top + n * ROW, width)));
    x += width + GAP;
  }
  return boxes;
}

function widthOf({ part, depth }: Row): number {
  const count = isGroup(part) ? 10 : 3;
  return (part.label.length + count) * CHARACTER + depth * INDENT;
}

function boxOf({ part, depth, isOpen }: Row, column: number, x: number, y: number, width: number): Box {
  const indent = Math.min(depth * INDENT, width / 2);
  const group = isGroup(part) ? (isOpen ? "open" : "closed") : undefined;
  const { id, label } = part;
  return { id, label, column, depth, x: x + indent, y, width: width - indent, nodes: nodesOf(part), group };
}

/** One line for all edges between two boxes; within a box there is none. */
function linesOf(answer: GraphResult, boxes: readonly Box[]): readonly Line[] {
  const boxOfNode = new Map<number, string>();
  for (const box of boxes) {
    if (box.group !== "open") {
      box.nodes.forEach((node) => boxOfNode.set(node, box.id));
    }
  }
  const lines = new Map<string, Line>();
  for (const edge of answer.edges) {
    const [from, to] = [boxOfNode.get(edge.from), boxOfNode.get(edge.to)];
    if (from !== undefined && to !== undefined && from !== to) {
      const known = lines.get(`${from}\n${to}`);
      const line = { from, to, count: (known?.count ?? 0) + 1, certain: edge.certain || (known?.certain ?? false) };
      lines.set(`${from}\n${to}`, line);
    }
  }
  return [...lines.values()];
}
