/** What Rolecall's server and this client say to each other beyond LSP; docs/protocol.md describes it. */

import { NotificationType, RequestType } from "vscode-languageclient/node";
import type { ClientCapabilities, Range } from "vscode-languageclient/node";

/** The commands that the server executes, each with what it needs from the editor when called without arguments. */
export const SERVER_COMMANDS = {
  "rolecall.tests.generate": "editor",
  "rolecall.brief.implement": "editor",
  "rolecall.hunk.accept": "editor",
  "rolecall.hunk.reject": "editor",
  "rolecall.file.accept": "editor",
  "rolecall.file.reject": "editor",
  "rolecall.proposal.show": "editor if any",
  "rolecall.proposal.accept": "editor if any",
  "rolecall.proposal.reject": "editor if any",
  "rolecall.run.cancel": "nothing",
} as const satisfies Record<string, "editor" | "editor if any" | "nothing">;

export type ServerCommand = keyof typeof SERVER_COMMANDS;

/** The one argument of a command that was called from the palette or by a key. */
export interface Place {
  readonly uri?: string;
  readonly range?: Range;
}

export interface InputParams {
  readonly prompt: string;
  readonly value?: string;
}

export interface InputResult {
  /** Null when the developer closed the box without answering. */
  readonly text: string | null;
}

/** Server to client: asks the developer for a line of text. */
export const InputRequest = new RequestType<InputParams, InputResult, void>("rolecall/input");

export interface RunParams {
  readonly runId: string;
  readonly state: "started" | "finished" | "failed" | "cancelled";
}

/** Server to client: a run began or ended. */
export const RunNotification = new NotificationType<RunParams>("rolecall/run");

export const EXPERIMENTAL_CAPABILITIES: ClientCapabilities["experimental"] = { rolecall: { input: true } };
