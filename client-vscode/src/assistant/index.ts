/** Rolecall for the editor's own assistant: tools that agents call, and a participant `@rolecall`, where the editor has them. */

import { t } from "@vscode/l10n";
import * as vscode from "vscode";
import type { CancellationToken, Disposable, LogOutputChannel } from "vscode";

import type { Server } from "../server.ts";
import { askGraph, generateTests, proposeEdit, whatWaits } from "./answers.ts";
import type { Port } from "./answers.ts";
import { answer } from "./participant.ts";
import { portTo } from "./port.ts";

/** What newer editors have beside the API that this extension is built for. */
interface ToolApi {
  readonly lm?: { registerTool?(name: string, tool: Tool): Disposable };
  readonly LanguageModelToolResult?: new (parts: readonly unknown[]) => unknown;
  readonly LanguageModelTextPart?: new (text: string) => unknown;
  readonly chat?: Partial<typeof vscode.chat>;
}

interface Tool {
  invoke(options: { readonly input: object }, token: CancellationToken): Promise<unknown>;
  prepareInvocation(options: { readonly input: object }): object;
}

const TOOLS: Readonly<Record<string, { readonly doing: string; readonly answer: (port: Port, input: object) => Promise<string> }>> = {
  rolecall_propose_edit: { doing: t("Proposing an edit for review"), answer: proposeEdit },
  rolecall_ask_graph: { doing: t("Asking the code graph"), answer: askGraph },
  rolecall_generate_tests: { doing: t("Having tests written"), answer: generateTests },
  rolecall_what_waits: { doing: t("Looking at what waits to be decided"), answer: whatWaits },
};

export function createAssistant(server: Server, log: LogOutputChannel): Disposable[] {
  const api = vscode as unknown as ToolApi;
  return [...registered(() => registerTools(api, server), log), ...registered(() => registerParticipant(api, server), log)];
}

/** What *register* registers; nothing where this editor refuses it, which keeps nobody from the rest. */
function registered(register: () => Disposable[], log: LogOutputChannel): Disposable[] {
  try {
    return register();
  } catch (error) {
    log.info(`This editor does not take what is there for its assistant: ${String(error)}`);
    return [];
  }
}

function registerTools(api: ToolApi, server: Server): Disposable[] {
  const { lm, LanguageModelToolResult: Result, LanguageModelTextPart: Text } = api;
  if (lm?.registerTool === undefined || Result === undefined || Text === undefined) {
    return [];
  }
  return Object.entries(TOOLS).map(([name, { doing, answer: answerTo }]) =>
    lm.registerTool?.(name, {
      invoke: async ({ input }, token) => new Result([new Text(await answerTo(portTo(server, token), input))]),
      prepareInvocation: () => ({ invocationMessage: doing }),
    }),
  ).filter((one): one is Disposable => one !== undefined);
}

function registerParticipant(api: ToolApi, server: Server): Disposable[] {
  const participant = api.chat?.createChatParticipant?.("rolecall.team", (request, _context, stream, token) =>
    answer(portTo(server, token), request, stream),
  );
  if (participant === undefined) {
    return [];
  }
  participant.iconPath = new vscode.ThemeIcon("checklist");
  return [participant];
}
