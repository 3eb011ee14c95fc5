/** The words of the graph: what is in it, and how a box is read out. */

import type { GraphKind, GraphNode, GraphResult } from "../protocol.ts";
import type { Box } from "./layout.ts";
import type { Question } from "./messages.ts";

/** How a place on either side is connected with the centre. */
const SIDES: Readonly<Record<GraphKind, readonly [string, string]>> = {
  calls: ["calls it", "it calls"],
  impact: ["would be touched", ""],
  modules: ["imports it", "it imports"],
};
const COUNTED: Readonly<Record<GraphKind, readonly [string, string]>> = {
  calls: ["caller", "callee"],
  impact: ["place that would be touched", ""],
  modules: ["importer", "imported module"],
};

const HEADINGS: Readonly<Record<GraphKind, readonly [string, string]>> = {
  calls: ["Callers", "Callees"],
  impact: ["Touched", ""],
  modules: ["Importers", "Imports"],
};

/** One line on the whole: how much there is on each side, and what was left out. */
export function summary(answer: GraphResult, { kind, steps }: Pick<Question, "kind" | "steps">): string {
  const center = answer.center === null ? undefined : answer.nodes[answer.center];
  if (answer.problem !== "" || center === undefined) {
    return answer.problem;
  }
  const { dependents = 0, dependencies = 0, possible = 0, tests = 0 } = answer.leftOut;
  const [before, after] = COUNTED[kind];
  const beyond = dependents + dependencies;
  const parts = [
    `${center.name} in ${center.path}`,
    counted(answer.nodes.filter(({ distance }) => distance < 0).length, before),
    after === "" ? "" : counted(answer.nodes.filter(({ distance }) => distance > 0).length, after),
    `within ${counted(steps, "step")}`,
    beyond > 0 ? `${count(beyond)} more beyond the limit` : "",
    possible > 0 ? `${count(possible)} only possible: not shown` : "",
    tests > 0 ? `${count(tests)} in tests: not shown` : "",
    answer.isComplete || beyond > 0 ? "" : "there may be more",
  ];
  return parts.filter((part) => part !== "").join(" · ");
}

/** What a screen reader says of a box. */
export function readOut(box: Box, nodes: readonly GraphNode[], kind: GraphKind): string {
  const where = side(box.column, kind);
  if (box.group !== undefined) {
    return `${box.label}, ${counted(box.nodes.length, "place")}, ${where}`;
  }
  const node = nodes[box.nodes[0] ?? -1];
  return node === undefined ? box.label : `${node.name}, ${node.kind} in ${node.path}, line ${node.range.start.line + 1}, ${where}`;
}

function side(column: number, kind: GraphKind): string {
  if (column === 0) {
    return "the centre";
  }
  const steps = Math.abs(column) === 1 ? "" : `, ${Math.abs(column)} steps away`;
  const [before, after] = SIDES[kind];
  return `${column < 0 ? before : after}${steps}`;
}

/** The heading of a column. */
export function heading(column: number, kind: GraphKind): string {
  const away = Math.abs(column);
  const name = HEADINGS[kind][column < 0 ? 0 : 1];
  return column === 0 ? "Centre" : away === 1 ? name : `${name}, ${away} steps`;
}

function counted(number: number, what: string): string {
  const many = what.startsWith("place ") ? what.replace("place", "places") : `${what}s`;
  return `${count(number)} ${number === 1 ? what : many}`;
}

function count(number: number): string {
  return number.toLocaleString("en-US");
}
