import assert from "node:assert/strict";
import { test } from "node:test";

import type { RunInShort, RunStep } from "../src/protocol.ts";
import { aboutCall, aboutRole, aboutRun, aboutStep, titleOf } from "../src/runs/words.ts";

const run: RunInShort = {
  runId: "r3",
  role: "team",
  title: "Team",
  about: "Add the tax",
  path: "",
  state: "running",
  error: "",
  startedAt: 1000,
  endedAt: null,
  step: "",
  tokens: 12345,
};
const step: RunStep = {
  role: "engineer",
  title: "Engineer",
  subject: "S1/T2",
  state: "done",
  error: "",
  startedAt: 1000,
  endedAt: 1065,
  read: ["m4"],
  messages: [{ message: "m7", kind: "edits", subject: "S1/T2", version: 1, documentId: "", sender: "engineer", at: 1065 }],
  calls: [],
  tokens: 1200,
  cost: 0.004,
};

test("a run at work says since when, and one that was killed does not pretend to go on", () => {
  assert.equal(aboutRun(run, 1065), "running · r3 · Team · 12,345 tokens · 1:05");
  assert.equal(aboutRun({ ...run, state: "interrupted", tokens: 0 }, 9999), "interrupted · r3 · Team");
  assert.equal(aboutRun({ ...run, state: "finished", endedAt: 1010 }, 9999), "finished · r3 · Team · 12,345 tokens · 0:10");
});

test("a step says what it is about and brought, and what it took", () => {
  assert.equal(titleOf(step), "S1/T2: edits");
  assert.equal(titleOf({ ...step, messages: [], state: "working" }), "S1/T2: at work");
  assert.equal(aboutStep(step, 9999), "done · 1:05 · 1,200 tokens · cost 0.0040");
  assert.equal(aboutRole([step, { ...step, state: "failed", tokens: 300, cost: 0 }]), "failed · 1,500 tokens · cost 0.0040");
});

test("a call that brought nothing says so", () => {
  const call = { call: 1, role: "engineer", model: "", state: "failed" as const, error: "no", startedAt: 0, tokens: 0, cost: 0 };
  assert.equal(aboutCall(call), "failed");
});
