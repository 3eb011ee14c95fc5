import assert from "node:assert/strict";

import { commands, ConfigurationTarget, workspace } from "vscode";

import { StatusRequest } from "../src/protocol.ts";
import type { StatusResult } from "../src/protocol.ts";
import { started, until } from "./host.ts";

describe("settings", () => {
  it("are known to the server as soon as they change", async () => {
    const { server } = await started();
    const client = await server.ready();
    const settings = workspace.getConfiguration("rolecall.model");
    await settings.update("name", "a-model-of-the-test", ConfigurationTarget.Global);
    try {
      const isNamed = async (): Promise<boolean> => {
        const { model } = await client.sendRequest<StatusResult>(StatusRequest.method, {});
        return JSON.stringify(model).includes("a-model-of-the-test");
      };
      assert.ok(await until(isNamed));
    } finally {
      await settings.update("name", undefined, ConfigurationTarget.Global);
    }
  });

  it("survive a restart of the server, and so does what waits", async () => {
    const { server, desk } = await started();
    await until(() => desk.find("p1"));
    const before = await server.ready();
    const again = until(async () => (await server.ready()) !== before);
    await commands.executeCommand("rolecall.server.restart");
    assert.ok(await again);
    assert.equal((await until(() => desk.find("p1"))).title, "Add the tax at checkout");
  });
});
