import assert from "node:assert/strict";
import { test } from "node:test";

import type { ReviewFile, ReviewHunk, ReviewProposal } from "../src/protocol.ts";
import { commandLink } from "../src/review/links.ts";
import { stations, walk } from "../src/review/order.ts";
import { createTicks } from "../src/review/ticks.ts";
import { asMarkdown, aboutFile, aboutHunk, aboutProposal, shortTitle, size } from "../src/review/words.ts";

function hunk(hunkId: string, more: Partial<ReviewHunk> = {}): ReviewHunk {
  return {
    ...{ hunkId, kind: "text", state: "pending", reason: "", title: `adds ${hunkId} to a.py (2 lines)`, symbol: hunkId },
    ...{ edited: false, off: false, needs: [], serves: [], touches: "", cautions: [], evidence: [], added: 2, removed: 0 },
    ...{ place: null, ...more },
  };
}

function file(path: string, hunks: readonly ReviewHunk[], more: Partial<ReviewFile> = {}): ReviewFile {
  return { path, newPath: "", kind: "changed", uri: `file:///w/${path}`, version: "", guarded: "", hunks, ...more };
}

function proposal(proposalId: string, files: readonly ReviewFile[]): ReviewProposal {
  const evidence = { text: "3 passed, 0 failed", lines: [], misfit: "" };
  return { proposalId, runId: "r1", role: "Engineer", title: "a", rationale: "", root: "file:///w", evidence, counts: {}, tasks: [], files };
}

const FIRST = file("a.py", [hunk("h1"), hunk("h2", { state: "accepted" }), hunk("h3")]);
const SECOND = file("b.py", [hunk("h4", { state: "stale" })]);
const ALL = stations([proposal("p2", [FIRST, SECOND]), proposal("p1", [FIRST])]);

function ids(step: 1 | -1, path?: string, hunkId?: string, on = true): string {
  const found = walk(ALL, path === undefined ? undefined : { proposalId: "p2", path, hunkId, on }, step);
  return `${found?.proposal.proposalId}/${found?.hunk.hunkId}`;
}

test("one walks over the hunks that wait, file by file and proposal by proposal, and round at the ends", () => {
  assert.deepEqual(ALL.map((one) => `${one.proposal.proposalId}/${one.hunk.hunkId}`), ["p2/h1", "p2/h3", "p2/h4", "p1/h1", "p1/h3"]);
  assert.equal(ids(1, "a.py", "h1"), "p2/h3");
  assert.equal(ids(1, "a.py", "h3"), "p2/h4");
  assert.equal(ids(-1, "a.py", "h1"), "p1/h3");
});

test("from below a hunk the one before is that hunk, and from nowhere the first or the last", () => {
  assert.equal(ids(-1, "a.py", "h3", false), "p2/h3");
  assert.equal(ids(1, "a.py"), "p2/h1");
  assert.equal(ids(1), "p2/h1");
  assert.equal(ids(-1), "p1/h3");
  assert.equal(walk([], undefined, 1), undefined);
});

test("a row says what is left, how much it is, and what to know before one decides", () => {
  assert.equal(aboutFile(FIRST), "2 of 3 hunks left · +4");
  assert.equal(aboutFile(file("c.py", [hunk("h1", { removed: 1 })], { kind: "added", guarded: "pytest runs it" })), "new · 1 hunk · +2 −1 · guarded");
  assert.equal(aboutHunk(hunk("h2", { state: "edited", needs: ["h1"], cautions: ["x"] })), "h2 · +2 · edited · needs h1 · caution");
  assert.equal(aboutHunk(hunk("h2", { state: "accepted", needs: ["h1"] })), "h2 · +2 · accepted");
  assert.equal(aboutProposal(proposal("p1", [FIRST])), "3 hunks in 1 file · 3 passed, 0 failed");
});

test("evidence about another text is not repeated as if it were about this one", () => {
  const changed = { ...proposal("p1", [FIRST]), evidence: { text: "3 passed", lines: [], misfit: "h1 was edited." } };
  assert.equal(aboutProposal(changed), "3 hunks in 1 file · checked before it was changed");
});

test("what others wrote is no Markdown", () => {
  assert.equal(asMarkdown("![x](http://a) $(sync)"), "\\!\\[x\\]\\(http\\://a\\) \\$\\(sync\\)");
  assert.equal(asMarkdown("<img>\n# a"), "&lt;img\\>\n\n\\# a");
});

test("a hunk below its file does not name the file again", () => {
  assert.equal(shortTitle(FIRST, hunk("total", {})), "adds total");
  assert.equal(shortTitle(FIRST, hunk("h1", { kind: "delete" })), "deletes the file");
  assert.equal(size([]), "");
});

test("what is ticked is told by proposal, and a hunk that is decided or lost its place is ticked no longer", () => {
  const ticks = createTicks();
  const [newer, older] = [proposal("p2", [FIRST, SECOND]), proposal("p1", [FIRST])];
  for (const [proposalId, hunkId] of [["p2", "h3"], ["p2", "h1"], ["p2", "h4"], ["p1", "h3"]] as const) {
    ticks.put(proposalId, hunkId, true);
  }
  assert.deepEqual(ticks.of([newer, older]), { p2: ["h1", "h3"], p1: ["h3"] });
  ticks.put("p2", "h1", false);
  assert.deepEqual(ticks.of([newer, older]), { p2: ["h3"], p1: ["h3"] });
  ticks.keepOpen([proposal("p1", [file("a.py", [hunk("h3", { state: "accepted" })])])]);
  assert.deepEqual(ticks.of([newer, older]), {}, "undone, it is offered again, and not ticked");
});

test("a link to a command holds together whatever the path has in it, and the argument comes out as it was", () => {
  const target = { proposalId: "p1", path: "shop/a) [b](command:x) (1).py", hunkIds: ["h1"] };
  const link = commandLink("Show", "rolecall.review.show", target);
  const [, address] = /^\[Show\]\(command:rolecall\.review\.show\?([^()\s]*)\)$/.exec(link) ?? [];
  assert.deepEqual(JSON.parse(decodeURIComponent(address ?? "")), [target]);
});
