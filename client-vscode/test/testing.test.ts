import assert from "node:assert/strict";
import { test } from "node:test";

import type { CoveredFile, Outcome, ProposalTests, ProposedTest } from "../src/protocol.ts";
import { aboutCoverage, asOutput, filesOf, isShown, labelOf, printOf, shownCases, stateOf, titleOf } from "../src/testing/words.ts";

const ends = (...cases: [string, Outcome][]): ProposedTest["cases"] =>
  cases.map(([testId, outcome]) => ({ testId, outcome, message: "", seconds: 0 }));

function proposed(testId: string, more: Partial<ProposedTest> = {}): ProposedTest {
  const path = testId.split("::")[0] ?? "";
  return { testId, path, uri: `file:///w/${path}`, isOpen: true, isBrought: true, lines: null, cases: [], ...more };
}

function tests(more: Partial<ProposalTests> = {}): ProposalTests {
  const of = [proposed("tests/test_a.py::test_b", { cases: ends(["tests/test_a.py::test_b", "passed"]) })];
  const rest = { proposalId: "p7", title: "Tests for a.py", root: "file:///w", isOpen: true, misfit: "", notRun: [] };
  return { ...rest, tests: of, survivors: [], coverage: [], ...more };
}

test("a test is called by its class and its name, and a file by its path", () => {
  assert.equal(labelOf("tests/test_a.py::TestPrice::test_total"), "TestPrice › test_total");
  assert.equal(labelOf("tests/test_a.py"), "tests/test_a.py");
});

test("the cases of a parametrised test stand below it, and a test without parameters stands for itself", () => {
  const id = "t.py::test_a";
  assert.deepEqual(shownCases(proposed(id, { cases: ends([id, "passed"]) })), []);
  assert.equal(shownCases(proposed(id, { cases: ends([`${id}[0]`, "passed"], [`${id}[1]`, "failed"]) })).length, 2);
});

test("a test that fails as it is marked to, or is skipped, has neither passed nor failed", () => {
  const all: Outcome[] = ["passed", "failed", "error", "skipped", "xfailed", "xpassed"];
  assert.deepEqual(all.map(stateOf), ["passed", "failed", "errored", "skipped", "skipped", "passed"]);
});

test("tests are grouped by their files, in the order they came", () => {
  const all = ["b.py::test_1", "a.py::test_2", "b.py::test_3"].map((id) => proposed(id));
  const grouped = filesOf(tests({ tests: all })).map(({ path, tests: some }) => `${path} ${some.length}`);
  assert.deepEqual(grouped, ["b.py 2", "a.py 1"]);
});

test("a decided proposal stays for the tests that were accepted, and goes when none was", () => {
  assert.ok(isShown(tests()));
  assert.ok(isShown(tests({ isOpen: false })));
  assert.ok(!isShown(tests({ isOpen: false, tests: [proposed("t.py::test_old", { isBrought: false })] })));
  assert.equal(titleOf(tests({ isOpen: false })), "p7: Tests for a.py (accepted)");
});

test("results about another text are told as such, and not as results", () => {
  const moved = tests({ misfit: "h1 was edited." });
  assert.equal(titleOf(moved), "p7: Tests for a.py (changed since)");
  assert.equal(printOf(moved), "");
  assert.notEqual(printOf(tests()), printOf(tests({ tests: [] })));
});

test("coverage says what it was, what it is, and which lines are new", () => {
  const lines = (reached: number[], ratio: number) => ({ reached, missed: [9], branches: { reached: 0, total: 0 }, ratio });
  const file: CoveredFile = { path: "a.py", uri: "", isOpen: false, before: lines([0, 1], 0.5), after: lines([0, 1, 3, 4, 5, 8], 0.999) };
  assert.equal(aboutCoverage(file), "Coverage of a.py: 50 % -> 99 %; reached now: line 4-6, 9.");
  assert.equal(aboutCoverage({ ...file, before: null }), "Coverage of a.py: 99 %.");
});

test("output has the line ends of a terminal", () => {
  assert.equal(asOutput("a\nb\r\n\n"), "a\r\nb\r\n");
  assert.equal(asOutput(""), "");
});
