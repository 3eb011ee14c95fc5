import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { askGraph, generateTests, proposeEdit, UNDER_REVIEW, whatWaits } from "../src/assistant/answers.ts";
import type { EndedRun, Port } from "../src/assistant/answers.ts";
import type { GraphNode, GraphParams, GraphResult, ProposeParams, ProposeResult, ReviewProposal } from "../src/protocol.ts";

const at = (line: number) => ({ start: { line, character: 0 }, end: { line, character: 0 } });

function node(symbol: string, distance: number, more: Partial<GraphNode> = {}): GraphNode {
  const path = more.path ?? "shop/price.py";
  return { name: symbol, kind: "function", symbol, path, uri: "", range: at(3), distance, test: false, ...more };
}

const GRAPH: GraphResult = {
  problem: "",
  center: 0,
  nodes: [node("total", 0), node("checkout", -1), node("test_total", -2, { path: "tests/test_price.py", test: true }), node("round_up", 1)],
  edges: [],
  leftOut: { possible: 2 },
  isComplete: false,
};
const TAKEN: ProposeResult = {
  proposalId: "p7",
  problem: "",
  title: "Round: 1 hunk in shop/price.py.",
  hunks: [{ hunkId: "h1", path: "shop/price.py", symbol: "total" }],
  evidence: ["Checked: 3 passed, 0 failed."],
};
const WAITING: ReviewProposal = {
  ...{ proposalId: "p7", runId: "r1", role: "QA Engineer", title: "Tests for shop/price.py", rationale: "", root: "", counts: {}, tasks: [] },
  evidence: { text: "3 passed, 0 failed", lines: [], misfit: "" },
  files: [],
};

interface Asked {
  proposed: ProposeParams[];
  graphs: GraphParams[];
  runs: [string, object][];
}

function port(answers: { propose?: ProposeResult; graph?: GraphResult; ended?: EndedRun; proposals?: ReviewProposal[] } = {}): Port & Asked {
  const asked: Asked = { proposed: [], graphs: [], runs: [] };
  return {
    ...asked,
    propose: (params) => Promise.resolve((asked.proposed.push(params), answers.propose ?? TAKEN)),
    graph: (params) => Promise.resolve((asked.graphs.push(params), answers.graph ?? GRAPH)),
    review: () => Promise.resolve({ proposals: answers.proposals ?? [], undo: null }),
    run: (command, args) =>
      Promise.resolve((asked.runs.push([command, args]), answers.ended ?? { state: "finished", proposalId: "p7", problem: "" })),
    uriOf: (path) => Promise.resolve(path === "shop/price.py" ? "file:///w/shop/price.py" : undefined),
  };
}

test("an agent's edit is proposed under a name that is no role's, and the agent hears that nothing is written", async () => {
  const to = port();
  const said = await proposeEdit(to, { title: "Round", files: [{ path: "shop/price.py", text: "x" }] });
  assert.equal(to.proposed[0]?.origin, "VS Code agent");
  assert.deepEqual(to.proposed[0].files, [{ path: "shop/price.py", text: "x" }]);
  assert.match(said, /^p7: Round/);
  assert.match(said, /h1 shop\/price\.py total\nChecked: 3 passed, 0 failed\./);
  assert.ok(said.endsWith(UNDER_REVIEW));
});

test("an edit that cannot be a proposal is answered with the reason, and with nothing that sounds like success", async () => {
  const refused = { ...TAKEN, proposalId: "", problem: "The old lines of hunk 1 stand nowhere in the file.", hunks: [], evidence: [] };
  const said = await proposeEdit(port({ propose: refused }), { title: "Round", diff: "…" });
  assert.equal(said, "This is no proposal. The old lines of hunk 1 stand nowhere in the file.");
});

test("the graph is asked for callers, callees, impact, tests and the definition, and says how sure it is", async () => {
  const ask = (question: string) => askGraph(port(), { question, path: "shop/price.py", symbol: "total" });
  const names = (said: string) => [...said.matchAll(/:4 (\w+)/g)].map(([, name]) => name);
  assert.deepEqual(names(await ask("callers")), ["checkout", "test_total"]);
  assert.deepEqual(names(await ask("callees")), ["round_up"]);
  assert.deepEqual(names(await ask("tests")), ["test_total"]);
  assert.deepEqual(names(await ask("definition")), ["total"]);
  assert.match(await ask("impact"), /2 more are possible by their name alone\.\nThis is not all/);
});

test("a question, a file or a symbol that does not exist is said, and what to ask instead", async () => {
  assert.match(await askGraph(port(), { question: "toString", path: "shop/price.py" }), /Ask one of: callers/);
  assert.match(await askGraph(port(), { question: "callers", path: "no.py" }), /no file no\.py/);
  assert.match(await askGraph(port(), { question: "callers", path: "shop/price.py", symbol: "Cart" }), /defines no Cart/);
});

test("tests are written by a run, and told with what was checked once they wait", async () => {
  const to = port({ proposals: [WAITING] });
  const said = await generateTests(to, { path: "shop/price.py", symbol: "total" });
  assert.deepEqual(to.runs, [["rolecall.tests.generate", { uri: "file:///w/shop/price.py", symbol: "total", brief: "" }]]);
  assert.match(said, /^p7 by QA Engineer: Tests for shop\/price\.py\n3 passed, 0 failed/);
  const failed = port({ ended: { state: "failed", proposalId: "", problem: "" } });
  assert.match(await generateTests(failed, { path: "shop/price.py" }), /The run is failed, and proposes nothing/);
});

test("what waits is told, and that nothing does", async () => {
  assert.equal(await whatWaits(port()), "Nothing waits to be decided.");
  assert.match(await whatWaits(port({ proposals: [WAITING] })), /p7 by QA Engineer/);
});

interface Manifest {
  readonly contributes: {
    readonly languageModelTools: readonly { readonly name: string }[];
    readonly chatParticipants: readonly { readonly commands: readonly { readonly name: string }[] }[];
  };
}

test("the manifest offers the tools and the participant's commands that there are", () => {
  const manifest = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as Manifest;
  const source = readFileSync(new URL("../src/assistant/index.ts", import.meta.url), "utf8");
  const offered = manifest.contributes.languageModelTools.map(({ name }) => name);
  assert.deepEqual(offered, [...source.matchAll(/^ {2}(rolecall_\w+):/gm)].map(([, name]) => name));
  const commands = manifest.contributes.chatParticipants[0]?.commands.map(({ name }) => name);
  assert.deepEqual(commands, ["tests", "implement", "team", "review"]);
});
