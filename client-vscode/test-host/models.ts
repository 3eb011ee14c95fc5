import assert from "node:assert/strict";

import { CancellationTokenSource } from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";

import { serveModels } from "../src/models.ts";
import { ModelAskRequest, ModelListRequest } from "../src/protocol.ts";

type Handler = (...given: unknown[]) => Promise<unknown>;

/** What the bridge registers at a client, by the method. */
function registered(): Map<string, Handler> {
  const handlers = new Map<string, Handler>();
  const client = {
    onRequest: ({ method }: { method: string }, handler: Handler) => {
      handlers.set(method, handler);
      return { dispose: () => undefined };
    },
  };
  serveModels(client as unknown as LanguageClient);
  return handlers;
}

describe("the bridge to the editor's own models", () => {
  it("lists none where the editor lends none", async () => {
    assert.deepEqual(await registered().get(ModelListRequest.method)?.(), { models: [] });
  });

  it("says that a model is gone, in words of the protocol", async () => {
    const asked = { callId: "c1", vendor: "nobody", model: "gone", messages: [{ role: "user", text: "Hello" }], justification: "a test" };
    const answer = await registered().get(ModelAskRequest.method)?.(asked, new CancellationTokenSource().token);
    assert.deepEqual(answer, { text: "", error: { kind: "notFound", message: "The editor no longer offers gone." } });
  });
});
