/** Wires the parts together; each part explains itself. */

// First: other modules ask for texts while they are loaded.
import "./texts.ts";

import { ExtensionMode, window, workspace } from "vscode";
import type { ExtensionContext } from "vscode";

import { createAssistant } from "./assistant/index.ts";
import { registerCommands } from "./commands.ts";
import { registerFolderTests } from "./folderTests.ts";
import { createGraph } from "./graph/index.ts";
import type { Desk } from "./review/desk.ts";
import { createReview } from "./review/index.ts";
import { createRuns } from "./runs/index.ts";
import { createServer } from "./server.ts";
import type { Server } from "./server.ts";
import { createSetup } from "./setup/index.ts";
import { createStatus } from "./status.ts";
import { createTesting } from "./testing/index.ts";

let server: Server | undefined;

/** What tests in the extension host are given; nobody else is. */
export interface Parts {
  readonly context: ExtensionContext;
  readonly server: Server;
  readonly desk: Desk;
}

export function activate(context: ExtensionContext): Parts | undefined {
  const log = window.createOutputChannel("Rolecall", { log: true });
  const status = createStatus();
  const created = createServer(context.extensionPath, log, status);
  server = created;
  const setup = createSetup(context, created, status, log);
  const review = createReview(context, created, log);
  context.subscriptions.push(
    log,
    status,
    ...registerCommands(created, log, setup.mayBegin, review.pointed),
    ...setup.disposables,
    ...review.disposables,
    ...createAssistant(created, log),
    ...createRuns(created, setup.onDidMove, setup.questions, log),
    ...createTesting(context, created, review.desk, log),
    ...createGraph(context, created, log),
    registerFolderTests(created, setup.mayBegin),
    // The server hears only in `initialize` whether the workspace is trusted.
    workspace.onDidGrantWorkspaceTrust(() => created.restart()),
    workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration("rolecall.server")) {
        void created.restart();
      }
    }),
  );
  void created.restart();
  return context.extensionMode === ExtensionMode.Test ? { context, server: created, desk: review.desk } : undefined;
}

export async function deactivate(): Promise<void> {
  await server?.stop();
}
