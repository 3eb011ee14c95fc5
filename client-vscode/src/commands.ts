/** The commands: what the server executes, with the arguments that the palette leaves out, and the client's own. */

import { t } from "@vscode/l10n";
import { commands, TabInputText, Uri, window } from "vscode";
import type { Disposable, LogOutputChannel, TextEditor } from "vscode";
import { ErrorCodes, ExecuteCommandRequest, ResponseError } from "vscode-languageclient/node";
import type { LanguageClient } from "vscode-languageclient/node";

import { ServerDown } from "./client.ts";
import { SERVER_COMMANDS } from "./protocol.ts";
import type { Place, ServerCommand } from "./protocol.ts";
import { explain } from "./server.ts";
import type { Server } from "./server.ts";
import { asNotice } from "./setup/plainText.ts";

const CUT_OFF = t("Rolecall's server stopped before it answered. Try again once it runs.");

/** What an editor that shows a proposal points at; undefined where it shows something else. */
export type Pointer = (editor: TextEditor | undefined) => Promise<object | undefined>;

const OF_PROPOSALS = /^rolecall\.(hunk|file|proposal)\./;

/**
 * Every command that `package.json` contributes.
 *
 * They are registered once and outlive the server: one called while it starts waits for it, and one called
 * while it is down says why it is.
 */
export function registerCommands(
  server: Server,
  log: LogOutputChannel,
  mayBegin: (command: string) => Promise<boolean>,
  pointed: Pointer,
): Disposable[] {
  const forwarded = (Object.keys(SERVER_COMMANDS) as ServerCommand[]).map((command) =>
    commands.registerCommand(command, async (...args: unknown[]) =>
      (await mayBegin(command)) ? executeOnServer(server, log, pointed, command, fromMenu(args)) : undefined,
    ),
  );
  return [
    ...forwarded,
    commands.registerCommand("rolecall.server.restart", () => server.restart()),
    commands.registerCommand("rolecall.logs.show", () => log.show()),
  ];
}

/** The arguments of a command; a menu names the file that it was opened on, which may be another than the editor's. */
function fromMenu(args: unknown[]): unknown[] {
  const meant = isGroup(args[0]) ? fileInFront() : args[0];
  if (!(meant instanceof Uri)) {
    return meant === undefined ? [] : args;
  }
  const uri = meant.toString();
  // Without an argument the place in the editor is sent, which has the selection as well.
  return uri === window.activeTextEditor?.document.uri.toString() ? [] : [{ uri }];
}

/** Whether that is all that a title bar's button knows: of a tab that is still being loaded VS Code tells its group alone. */
function isGroup(argument: unknown): boolean {
  return typeof argument === "object" && argument !== null && "groupId" in argument;
}

function fileInFront(): Uri | undefined {
  const input = window.tabGroups.activeTabGroup.activeTab?.input;
  return input instanceof TabInputText ? input.uri : undefined;
}

async function executeOnServer(
  server: Server,
  log: LogOutputChannel,
  pointed: Pointer,
  command: ServerCommand,
  given: unknown[],
): Promise<unknown> {
  // Taken before anything is awaited: the place that is meant is the one where the developer called.
  const editor = window.activeTextEditor;
  const target = given.length === 0 && OF_PROPOSALS.test(command) ? await pointed(editor) : undefined;
  const args = target === undefined ? given : [target];
  if (args.length === 0 && SERVER_COMMANDS[command] === "editor" && !isOnDisk(editor)) {
    void window.showInformationMessage(t("Rolecall works on the file in the active editor. Open a file first."));
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
      void window.showErrorMessage(asNotice(wasCutOff(error) ? CUT_OFF : error instanceof Error ? error.message : String(error)));
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
