import assert from "node:assert/strict";

import { window, workspace } from "vscode";

import type { Server } from "../src/server.ts";
import { createKeys } from "../src/setup/keys.ts";
import { started } from "./host.ts";

const ADDRESS = "http://127.0.0.1:9/v1";

/** *server* for code that brings its own copy of the language client: its requests go by their names. */
function byName(server: Server): Server {
  const ready = async (): Promise<unknown> => {
    const client = await server.ready();
    return { sendRequest: ({ method }: { method: string }, params: object) => client.sendRequest(method, params) };
  };
  return { ...server, ready: ready as Server["ready"] };
}

describe("a key of a model's address", () => {
  it("is kept in the editor's secret storage alone, and forgotten when it is emptied", async () => {
    const { context, server } = await started();
    const keys = createKeys(byName(server), context.secrets, window.createOutputChannel("Rolecall test", { log: true }));
    try {
      await keys.keep(`${ADDRESS}/`, "sk-of-the-test");
      assert.equal(await context.secrets.get(`rolecall.model.key ${ADDRESS}`), "sk-of-the-test");
      assert.ok(!JSON.stringify(workspace.getConfiguration("rolecall")).includes("sk-of-the-test"));
      await keys.keep(ADDRESS, "");
      assert.equal(await context.secrets.get(`rolecall.model.key ${ADDRESS}`), undefined);
    } finally {
      keys.dispose();
    }
  });
});
