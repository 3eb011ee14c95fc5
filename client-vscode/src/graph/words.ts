/** The words of the graph: what is in it, and how a box is read out. */

import { t } from "@vscode/l10n";

import type { GraphKind, GraphNode, GraphResult } from "../protocol.ts";
import type { Box } from "./layout.ts";
import type { Question } from "./messages.ts";

/** How a place on either side is connected with the centre. */
const SIDES: Readonly<Record<GraphKind, readonly [string, string]>> = {
  calls: [t("calls it"), t("it calls")],
  impact: [t("would be touched"), ""],
  modules: [t("imports it"), t("it imports")],
};
const COUNTED: Readonly<Record<GraphKind, readonly [(n: number) => string, ((n: number) => string) | undefined]>> = {
  calls: [
    (n) => (n === 1 ? t("1 caller") : t("{0} callers", count(n))),
    (n) => (n === 1 ? t("1 callee") : t("{0} callees", count(n))),
  ],
  impact: [(n) => (n === 1 ? t("1 place that would be touched") : t("{0} places that would be touched", count(n))), undefined],
  modules: [
    (n) => (n === 1 ? t("1 importer") : t("{0} importers", count(n))),
    (n) => (n === 1 ? t("1 imported module") : t("{0} imported modules", count(n))),
  ],
};

const HEADINGS: Readonly<Record<GraphKind, readonly [string, string]>> = {
  calls: [t("Callers"), t("Callees")],
  impact: [t("Touched"), ""],
  modules: [t("Importers"), t("Imports")],
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
    t("{0} in {1}", center.name, center.path),
    before(answer.nodes.filter(({ distance }) => distance < 0).length),
    after?.(answer.nodes.filter(({ distance }) => distance > 0).length) ?? "",
    steps === 1 ? t("within 1 step") : t("within {0} steps", count(steps)),
    beyond > 0 ? t("{0} more beyond the limit", count(beyond)) : "",
    possible > 0 ? t("{0} only possible: not shown", count(possible)) : "",
    tests > 0 ? t("{0} in tests: not shown", count(tests)) : "",
    answer.isComplete || beyond > 0 ? "" : t("there may be more"),
  ];
  return parts.filter((part) => part !== "").join(" · ");
}

/** What a screen reader says of a box. */
export function readOut(box: Box, nodes: readonly GraphNode[], kind: GraphKind): string {
  const where = side(box.column, kind);
  if (box.group !== undefined) {
    const places = box.nodes.length;
    return `${box.label}, ${places === 1 ? t("1 place") : t("{0} places", count(places))}, ${where}`;
  }
  const node = nodes[box.nodes[0] ?? -1];
  return node === undefined ? box.label : t("{0}, {1} in {2}, line {3}, {4}", node.name, node.kind, node.path, node.range.start.line + 1, where);
}

function side(column: number, kind: GraphKind): string {
  if (column === 0) {
    return t("the centre");
  }
  const [before, after] = SIDES[kind];
  const how = column < 0 ? before : after;
  return Math.abs(column) === 1 ? how : t("{0}, {1} steps away", how, Math.abs(column));
}

/** The heading of a column. */
export function heading(column: number, kind: GraphKind): string {
  const away = Math.abs(column);
  const name = HEADINGS[kind][column < 0 ? 0 : 1];
  return column === 0 ? t("Centre") : away === 1 ? name : t("{0}, {1} steps", name, away);
}

function count(number: number): string {
  return number.toLocaleString("en-US");
}
