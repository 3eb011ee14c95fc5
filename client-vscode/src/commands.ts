/** The commands: what the server executes, with the arguments that the palette leaves out, and the client's own. */

import { commands, window } from "vscode";
import type { Disposable, LogOutputChannel, TextEditor } from "vscode";
import { ErrorCodes, ExecuteCommandRequest, ResponseError } from "vscode-languageclient/node";
import type { LanguageClient } from "vscode-languageclient/node";

import { ServerDown } from "./client.ts";
import { SERVER_COMMANDS } from "./protocol.ts";
import type { Place, ServerCommand } from "./protocol.ts";
import { explain } from "./server.ts";
import type { Server } from "./server.ts";

const CUT_OFF = "Rolecall's server stopped before it answered. Try again once it runs.";

/**
 * Every command that `package.json` contributes.
 *
 * They are registered once and outlive the server: one called while it starts waits for it, and one called
 * while it is down says why it is.
 */
export function registerCommands(server: Server, log: LogOutputChannel): Disposable[] {
  const forwarded = (Object.keys(SERVER_COMMANDS) as ServerCommand[]).map((command) =>
    commands.registerCommand(command, (...args: unknown[]) => executeOnServer(server, log, command, args)),
  );
  return [
    ...forwarded,
    commands.registerCommand("rolecall.server.restart", () => server.restart()),
    commands.registerCommand("rolecall.logs.show", () => log.show()),
  ];
}

async function executeOnServer(
  server: Server,
  log: LogOutputChannel,
  command: ServerCommand,
  args: unknown[],
): Promise<unknown> {
  // Taken before anything is awaited: the place that is meant is the one where the developer called.
  const editor = window.activeTextEditor;
  if (args.length === 0 && SERVER_COMMANDS[command] === "editor" && !isOnDisk(editor)) {
    void window.showInformationMessage("Rolecall works on the file in the active editor. Open a file first.");
    return undefined;
  }
  try {
    const client = await server.ready();
    const filledIn = args.length > 0 ? args : [placeOf(client, command, editor)];
    return await client.sendRequest(ExecuteCommandRequest.type, { command, arguments: filledIn });
  } catch (error) {
    if (error instanceof ServerDown) {
      void explain(error.message, log);
    } else {
      log.error(`${command}: ${String(error)}`);
      void window.showErrorMessage(wasCutOff(error) ? CUT_OFF : error instanceof Error ? error.message : String(error));
    }
    return undefined;
  }
}

/** Whether *error* says that the server ended before it answered. */
function wasCutOff(error: unknown): boolean {
  const codes: number[] = [ErrorCodes.PendingResponseRejected, ErrorCodes.ConnectionInactive];
  return error instanceof ResponseError && codes.includes(error.code);
}

function isOnDisk(editor: TextEditor | undefined): editor is TextEditor {
  return editor?.document.uri.scheme === "file";
}

function placeOf(client: LanguageClient, command: ServerCommand, editor: TextEditor | undefined): Place {
  if (SERVER_COMMANDS[command] === "nothing" || !isOnDisk(editor)) {
    return {};
  }
  const convert = client.code2ProtocolConverter;
  return { uri: convert.asUri(editor.document.uri), range: convert.asRange(editor.selection) };
}
