import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { describe, it } from "node:test";

import { partNewFiles } from "../src/setup/newFiles.ts";
import { asMarkdown, asNotice } from "../src/setup/plainText.ts";
import { say } from "../src/setup/words.ts";
import type { Facts } from "../src/setup/words.ts";

const at = (line: number, character: number) => ({ line, character });
const insert = (newText: string, line = 0) => ({ range: { start: at(line, 0), end: at(line, 0) }, newText });

describe("a file that an edit makes", () => {
  const create = { kind: "create" as const, uri: "file:///shop/tax.py" };
  const fill = { textDocument: { uri: create.uri, version: null }, edits: [insert("RATE = 1\n")] };
  const change = { textDocument: { uri: "file:///shop/price.py", version: 3 }, edits: [insert("import tax\n")] };

  it("comes with its text, and what changes other files is left", () => {
    const { rest, files } = partNewFiles({ documentChanges: [change, create, fill] });
    assert.deepEqual(files, [{ uri: create.uri, text: "RATE = 1\n" }]);
    assert.deepEqual(rest.documentChanges, [change]);
  });

  it("is left to the editor where it is meant to be empty, or its text does not begin it", () => {
    const odd = { ...fill, edits: [insert("RATE = 1\n", 2)] };
    for (const documentChanges of [[create], [create, odd], [change]]) {
      const edit = { documentChanges };
      assert.deepEqual(partNewFiles(edit), { rest: edit, files: [] });
    }
  });
});

describe("plain text in a hover", () => {
  it("has links that end where the address does", () => {
    const text = asMarkdown("Written (qwen at http://127.0.0.1:11434/v1).\nSee https://my-host/a_b, *now*.");
    assert.equal(
      text,
      "Written \\(qwen at <http://127.0.0.1:11434/v1>\\)\\.  \nSee <https://my-host/a_b>, \\*now\\*\\.",
    );
  });

  it("shows what a model wrote as it is, markup and commands too", () => {
    assert.equal(asMarkdown("[x](command:y) <b>"), "\\[x\\]\\(command:y\\) \\<b\\>");
  });
});

describe("a notification", () => {
  it("has no links in what others wrote, and loses nothing of it", () => {
    assert.equal(asNotice("[x](command:y) and [list](a)[0]"), "[x] (command:y) and [list] (a)[0]");
  });

  it("says what is written in the code, or what was made plain; a dialog has no links", () => {
    const paths = readdirSync("src", { recursive: true, encoding: "utf8" }).filter((path) => path.endsWith(".ts"));
    const sources = paths.map((path) => readFileSync(`src/${path}`, "utf8")).join("\n");
    const said = [...sources.matchAll(/\.show(?:Information|Warning|Error)Message\(([^\n]*)|\.report\(\{ message: ([^\n]*)/g)];
    assert.ok(said.length > 15, "they are found");
    const odd = said.map(([, shown, reported]) => shown ?? reported ?? "").filter((text) => !/^t\("[^"]*"\)|^asNotice\(|modal: true/.test(text));
    assert.deepEqual(odd, []);
  });
});

describe("the status bar", () => {
  const rest = { index: null, runs: [], waiting: { proposals: 0, hunks: 0 }, stopped: [] };
  const fine = { state: "fine" as const, what: "m at http://x.", label: "m at http://x" };
  const run = { runId: "r1", role: "qa_engineer", step: "running the tests", startedAt: 1000, tokens: 12345 };
  const now = (facts: Partial<Facts>) =>
    say({ server: "ready", activity: rest, model: fine, questions: 0, now: 1065, ...facts });
  const waiting = { ...rest, waiting: { proposals: 2, hunks: 3 } };

  it("says the one thing that matters now, with the command that helps", () => {
    const said = [
      now({ server: "down", activity: undefined }),
      now({ server: "starting", activity: undefined }),
      now({ activity: { ...waiting, runs: [run] }, questions: 1 }),
      now({ activity: { ...waiting, runs: [run] } }),
      now({ activity: { ...waiting, index: { read: 41, files: 100 } } }),
      now({ activity: waiting, model: { state: "limited", what: "None." } }),
      now({ model: { state: "limited", what: "None." } }),
      now({ model: { state: "broken", what: "It does not answer.", label: "m" } }),
      now({}),
    ];
    assert.deepEqual(
      said.map(({ text, command }) => [text.replace(/^\$\([^)]*\) /, ""), command]),
      [
        ["Rolecall: not running", "rolecall.server.restart"],
        ["Rolecall: starting", "rolecall.logs.show"],
        ["Rolecall: a question waits", "rolecall.question.answer"],
        ["QA Engineer: running the tests · 1:05 · 12,345 tokens", "rolecall.menu.show"],
        ["Rolecall: indexing 41 %", "rolecall.menu.show"],
        ["Rolecall: 3 hunks wait", "rolecall.review.show"],
        ["Rolecall: no model", "rolecall.model.choose"],
        ["Rolecall: model error", "rolecall.model.choose"],
        ["Rolecall: ready", "rolecall.menu.show"],
      ],
    );
  });
});
