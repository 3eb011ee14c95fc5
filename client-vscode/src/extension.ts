/** Wires the parts together; each part explains itself. */

import { window, workspace } from "vscode";
import type { ExtensionContext } from "vscode";

import { registerCommands } from "./commands.ts";
import { createServer } from "./server.ts";
import type { Server } from "./server.ts";
import { createStatus } from "./status.ts";

let server: Server | undefined;

export function activate(context: ExtensionContext): void {
  const log = window.createOutputChannel("Rolecall", { log: true });
  const status = createStatus();
  const created = createServer(context.extensionPath, log, status);
  server = created;
  context.subscriptions.push(
    log,
    status,
    ...registerCommands(created, log),
    workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration("rolecall.server")) {
        void created.restart();
      }
    }),
  );
  void created.restart();
}

export async function deactivate(): Promise<void> {
  await server?.stop();
}
