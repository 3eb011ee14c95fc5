import assert from "node:assert/strict";

import { commands } from "vscode";

import type { RunParams } from "../src/protocol.ts";
import { open, started, until } from "./host.ts";

describe("a command of a title bar", () => {
  it("is about the file in front where VS Code tells no more than the group of the tab", async () => {
    const { server } = await started();
    const told: RunParams[] = [];
    const listening = server.onRun((run) => told.push(run));
    await open("shop/price.py");
    const begun = await commands.executeCommand<{ runId: string } | undefined>("rolecall.tests.generate", { groupId: 0 });
    assert.ok(begun, "a file was named, and a run begins");
    await until(() => told.some(({ runId, state }) => runId === begun.runId && state !== "started"));
    listening.dispose();
  });
});
