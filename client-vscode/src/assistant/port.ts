/** The way of the assistant's tools to the server. */

import { Uri, workspace } from "vscode";
import type { CancellationToken } from "vscode";
import { ExecuteCommandRequest } from "vscode-languageclient/node";

import { GraphRequest, ProposeRequest, ReviewRequest } from "../protocol.ts";
import type { RunParams } from "../protocol.ts";
import type { Server } from "../server.ts";
import type { EndedRun, Port } from "./answers.ts";

/** What `server` answers while *token* is not cancelled. */
export function portTo(server: Server, token: CancellationToken): Port {
  return {
    propose: async (params) => (await server.ready()).sendRequest(ProposeRequest, params, token),
    graph: async (params) => (await server.ready()).sendRequest(GraphRequest, { ...params, forModel: true }, token),
    review: async () => (await server.ready()).sendRequest(ReviewRequest, {}, token),
    run: (command, args) => runToItsEnd(server, token, command, args),
    uriOf,
  };
}

async function uriOf(path: string): Promise<string | undefined> {
  for (const { uri } of workspace.workspaceFolders ?? []) {
    const file = Uri.joinPath(uri, path);
    // `joinPath` resolves `..`, so a path may lead out of the folder.
    const isInside = file.path.startsWith(`${uri.path}/`);
    const found = isInside && (await workspace.fs.stat(file).then(() => true, () => false));
    if (found) {
      return file.toString();
    }
  }
  return undefined;
}

async function runToItsEnd(server: Server, token: CancellationToken, command: string, args: object): Promise<EndedRun> {
  const told: RunParams[] = [];
  let wake = (): void => undefined;
  // A short run may have ended before its command is answered.
  const listening = server.onRun((run) => {
    told.push(run);
    wake();
  });
  const cancelling = token.onCancellationRequested(() => wake());
  try {
    const client = await server.ready();
    const reply = (await client.sendRequest(ExecuteCommandRequest.type, { command, arguments: [args] })) as {
      readonly runId?: string;
      readonly message?: string;
    } | null;
    const runId = reply?.runId ?? "";
    if (runId === "") {
      return { state: "", proposalId: "", problem: reply?.message ?? "The run did not begin." };
    }
    for (;;) {
      const end = told.find((run) => run.runId === runId && run.state !== "started");
      if (end !== undefined) {
        return { state: end.state, proposalId: end.proposalId ?? "", problem: "" };
      }
      if (token.isCancellationRequested) {
        await client.sendRequest(ExecuteCommandRequest.type, { command: "rolecall.run.cancel", arguments: [{ runId }] });
        return { state: "cancelled", proposalId: "", problem: "" };
      }
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  } finally {
    listening.dispose();
    cancelling.dispose();
  }
}
