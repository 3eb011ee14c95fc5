import assert from "node:assert/strict";

import { commands, Uri, window, workspace, WorkspaceEdit } from "vscode";
import type { CodeLens, TextDocument } from "vscode";

import type { ReviewHunk } from "../src/protocol.ts";
import { AFTER, BEFORE } from "../src/review/files.ts";
import { onDisk, open, started, until } from "./host.ts";

type HunkState = ReviewHunk["state"];

const PRICE = "shop/price.py";
const H1 = { proposalId: "p1", path: PRICE, hunkIds: ["h1"] };

const side = (scheme: string): Thenable<TextDocument> => workspace.openTextDocument(Uri.from({ scheme, path: `/p1/${PRICE}` }));

async function stateOf(hunkId: string): Promise<HunkState | undefined> {
  const { desk } = await started();
  return desk.find("p1")?.files.flatMap(({ hunks }) => hunks).find((hunk) => hunk.hunkId === hunkId)?.state;
}

const become = (hunkId: string, state: HunkState): Promise<true> => until(async () => (await stateOf(hunkId)) === state);

describe("the sides of a proposal's file", () => {
  it("are documents: as it stands, and as it would stand", async () => {
    await become("h1", "pending");
    assert.equal((await side(BEFORE)).getText(), await onDisk(PRICE));
    assert.match((await side(AFTER)).getText(), /round\(sum\(items\), 2\)/);
  });

  it("have lenses that name their hunk", async () => {
    const { uri } = await side(AFTER);
    const lenses = await commands.executeCommand<CodeLens[]>("vscode.executeCodeLensProvider", uri, 100);
    const titles = lenses.map(({ command }) => command?.title.replace(/^\$\([a-z]+\) /, ""));
    for (const title of ["Accept h1", "Reject h1", "Revise h1…", "Why h1", "Accept h2"]) {
      assert.ok(titles.includes(title), `${title} is not among ${titles.join(", ")}`);
    }
  });

  it("become edits of their hunks when they are saved", async () => {
    const document = await side(AFTER);
    const line = document.getText().split("\n").findIndex((text) => text.includes("round(sum(items), 2)"));
    const edit = new WorkspaceEdit();
    edit.replace(document.uri, document.lineAt(line).range, "    return round(sum(items), 3)");
    await workspace.applyEdit(edit);
    assert.ok(await document.save());
    await become("h1", "edited");
    assert.ok(!(await onDisk(PRICE)).includes("round"));
  });

  it("keep what a hunk does not hold unsaved", async () => {
    const document = await side(AFTER);
    await window.showTextDocument(document);
    const edit = new WorkspaceEdit();
    edit.insert(document.uri, document.lineAt(0).range.end, "  # of no hunk");
    await workspace.applyEdit(edit);
    assert.equal(await document.save(), false);
    await commands.executeCommand("workbench.action.files.revert");
    await until(() => !document.isDirty);
    assert.doesNotMatch(document.getText(), /of no hunk/);
  });
});

describe("a decision", () => {
  it("changes the text of the file and not the disk, and is taken back whole", async () => {
    const before = await onDisk(PRICE);
    await commands.executeCommand("rolecall.review.accept", H1);
    await become("h1", "accepted");
    const document = await open(PRICE);
    assert.ok(document.isDirty);
    assert.match(document.getText(), /round\(sum\(items\), 3\)/);
    assert.equal(await onDisk(PRICE), before);
    await commands.executeCommand("rolecall.decision.undo");
    await become("h1", "edited");
    assert.equal(document.getText(), before);
  });

  it("is offered for the hunk that the key for the next one goes to", async () => {
    await commands.executeCommand("rolecall.review.next");
    await until(() => window.activeTextEditor?.document.uri.scheme === AFTER);
    await commands.executeCommand("rolecall.review.reject");
    const rejected = await until(async () => {
      const { desk } = await started();
      return desk.find("p1")?.files.flatMap(({ hunks }) => hunks).some(({ state }) => state === "rejected");
    });
    assert.ok(rejected);
    await commands.executeCommand("rolecall.decision.undo");
    await until(async () => {
      const { desk } = await started();
      return desk.find("p1")?.files.flatMap(({ hunks }) => hunks).every(({ state }) => state !== "rejected");
    });
  });
});
