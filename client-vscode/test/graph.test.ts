import assert from "node:assert/strict";
import { test } from "node:test";

import { layOut } from "../src/graph/layout.ts";
import type { Layout } from "../src/graph/layout.ts";
import type { GraphNode, GraphResult } from "../src/protocol.ts";

const START = { start: { line: 0, character: 0 }, end: { line: 0, character: 0 } };
const UNTOUCHED = { opened: new Set<string>(), closed: new Set<string>() };

function node(path: string, symbol: string, distance: number): GraphNode {
  const kind = symbol === "" ? "module" : "function";
  const name = symbol === "" ? (path.split("/").at(-1) ?? "") : symbol;
  return { name, kind, symbol, path, uri: `file:///w/${path}`, range: START, distance, test: false };
}

type Pair = readonly [number, number, boolean?];

function graph(nodes: readonly GraphNode[], pairs: readonly Pair[]): GraphResult {
  const edges = pairs.map(([from, to, certain = true]) => ({ from, to, certain, rule: "name" }));
  return { problem: "", center: 0, nodes, edges, leftOut: {}, isComplete: true };
}

/** Callers of one function: *files* files of *functions* functions each. */
function called(files: number, functions: number, folder = "app"): GraphResult {
  const nodes = [node("lib.py", "total", 0)];
  for (let file = 0; file < files; file += 1) {
    for (let n = 0; n < functions; n += 1) {
      nodes.push(node(`${folder}/part_${String(file).padStart(3, "0")}.py`, `use_${n}`, -1));
    }
  }
  return graph(nodes, nodes.slice(1).map((_, n): Pair => [n + 1, 0]));
}

function labels(layout: Layout, column: number): readonly string[] {
  return layout.boxes.filter((box) => box.column === column).map((box) => `${"  ".repeat(box.depth)}${box.label}`);
}

function overlapping(layout: Layout): number {
  const taken = layout.boxes.map((box) => `${box.column} ${box.y}`);
  return taken.length - new Set(taken).size;
}

test("callers stand left of the centre and callees right of it", () => {
  const nodes = [node("a.py", "total", 0), node("b.py", "use", -1), node("b.py", "main", -2), node("c.py", "add", 1)];
  const layout = layOut(graph(nodes, [[1, 0], [2, 1], [0, 3]]), UNTOUCHED);
  const x = (label: string): number => layout.boxes.find((box) => box.label === label)?.x ?? NaN;
  assert.ok(x("main") < x("use") && x("use") < x("total") && x("total") < x("add"));
  assert.equal(overlapping(layout), 0);
});

test("at ten places everything is open, with files as headings", () => {
  const layout = layOut(called(3, 3), UNTOUCHED);
  assert.equal(layout.boxes.filter((box) => box.group === undefined).length, 10);
  assert.deepEqual(labels(layout, -1).slice(0, 5), ["app", "  part_000.py", "    use_0", "    use_1", "    use_2"]);
});

test("at a thousand places a column has as many rows as a reader takes in, and stands for all of them", () => {
  const answer = called(50, 20);
  const layout = layOut(answer, UNTOUCHED);
  const shown = layout.boxes.filter((box) => box.column === -1);
  assert.ok(shown.length <= 24, `${shown.length} rows`);
  const nodes = new Set(shown.flatMap((box) => box.nodes));
  assert.equal(nodes.size, 1000);
  assert.equal(layout.lines.reduce((sum, line) => sum + line.count, 0), 1000);
});

test("what the reader opens is open, whatever it costs, and what is closed stays closed", () => {
  const answer = called(30, 20);
  const group = layOut(answer, UNTOUCHED).boxes.find((box) => box.group === "closed");
  assert.ok(group);
  const opened = layOut(answer, { opened: new Set([group.id]), closed: new Set() });
  assert.equal(opened.boxes.find((box) => box.id === group.id)?.group, "open");
  assert.equal(overlapping(opened), 0);
  const small = called(2, 2);
  const heading = layOut(small, UNTOUCHED).boxes.find((box) => box.label === "part_000.py");
  assert.equal(heading?.group, "open");
  const closed = layOut(small, { opened: new Set(), closed: new Set([heading.id]) });
  assert.ok(!labels(closed, -1).some((label) => label.startsWith("    use_0") && closed.boxes.length === 8));
  assert.equal(closed.boxes.find((box) => box.label === "part_000.py")?.group, "closed");
});

test("a folder of hundreds of files is split by the alphabet", () => {
  const nodes = [node("core.py", "", 0)];
  for (let n = 0; n < 500; n += 1) {
    nodes.push(node(`flat/m${String(n).padStart(3, "0")}.py`, "", -1));
  }
  const answer = graph(nodes, nodes.slice(1).map((_, n): Pair => [n + 1, 0]));
  const found = labels(layOut(answer, UNTOUCHED), -1);
  assert.equal(found[0], "flat");
  assert.equal(found[1], "  m000.py … m038.py");
  assert.ok(found.length <= 24);
});

test("folders that hold one folder are drawn as one", () => {
  const nodes = [node("a.py", "f", 0), node("x/y/z/b.py", "g", 1), node("x/y/z/c.py", "h", 1)];
  assert.deepEqual(labels(layOut(graph(nodes, [[0, 1], [0, 2]]), UNTOUCHED), 1), ["x/y/z", "  b.py", "    g", "  c.py", "    h"]);
});

test("lines between closed groups are one line with a count, certain if one of them is", () => {
  const nodes = [node("a.py", "f", 0), node("b.py", "g", 1), node("b.py", "h", 1)];
  const answer = graph(nodes, [[0, 1, false], [0, 2, true], [1, 2, true]]);
  const group = layOut(answer, UNTOUCHED).boxes.find((box) => box.label === "b.py");
  const layout = layOut(answer, { opened: new Set(), closed: new Set([group?.id ?? ""]) });
  assert.deepEqual(layout.lines.map(({ count, certain }) => ({ count, certain })), [{ count: 2, certain: true }]);
});

test("what stands further away is ordered by what it is connected with", () => {
  const near = [node("near/a.py", "a", -1), node("near/b.py", "b", -1)];
  const far = [node("far/of_b.py", "x", -2), node("far/to_a.py", "y", -2)];
  const layout = layOut(graph([node("c.py", "c", 0), ...near, ...far], [[1, 0], [2, 0], [3, 2], [4, 1]]), UNTOUCHED);
  assert.deepEqual(labels(layout, -2), ["far", "  to_a.py", "    y", "  of_b.py", "    x"]);
});

test("a filter leaves the centre and what it lets through", () => {
  const layout = layOut(called(3, 3), UNTOUCHED, ({ name }) => name === "use_1");
  assert.deepEqual(layout.boxes.filter((box) => box.group === undefined).map((box) => box.label), ["use_1", "use_1", "use_1", "total"]);
});
