/** What Rolecall's server and this client say to each other beyond LSP; docs/protocol.md describes it. */

import { NotificationType, RequestType } from "vscode-languageclient/node";
import type { ClientCapabilities, Range } from "vscode-languageclient/node";

/** The commands that the server executes, each with what it needs from the editor when called without arguments. */
export const SERVER_COMMANDS = {
  "rolecall.tests.generate": "editor",
  "rolecall.brief.implement": "editor",
  "rolecall.hunk.accept": "editor",
  "rolecall.hunk.reject": "editor",
  "rolecall.hunk.edit": "editor",
  "rolecall.hunk.revise": "editor",
  "rolecall.file.accept": "editor",
  "rolecall.file.reject": "editor",
  "rolecall.document.show": "nothing",
  "rolecall.proposal.show": "editor if any",
  "rolecall.proposal.accept": "editor if any",
  "rolecall.proposal.reject": "editor if any",
  "rolecall.all.accept": "nothing",
  "rolecall.all.reject": "nothing",
  "rolecall.decision.undo": "nothing",
  "rolecall.run.start": "editor if any",
  "rolecall.run.pause": "nothing",
  "rolecall.run.resume": "nothing",
  "rolecall.run.cancel": "nothing",
  "rolecall.run.context": "nothing",
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
  readonly state: "started" | "finished" | "failed" | "cancelled" | "waiting" | "paused";
}

/** Server to client: a run began or ended. */
export const RunNotification = new NotificationType<RunParams>("rolecall/run");

export interface TeamMessageParams {
  readonly runId: string;
  /** Such as `m7`. */
  readonly message: string;
  readonly kind: string;
  /** Who published what, because of what, in one line. */
  readonly text: string;
}

/** Server to client: a role of the team published a document. */
export const TeamMessageNotification = new NotificationType<TeamMessageParams>("rolecall/message");

export interface MessagesResult {
  readonly runId: string;
  readonly state: string;
  readonly error: string;
  readonly messages: readonly {
    readonly message: string;
    readonly kind: string;
    readonly subject: string;
    readonly version: number;
    readonly document: string;
    readonly sender: string;
    readonly because: readonly string[];
    readonly readBy: readonly string[];
    readonly at: string;
  }[];
}

/** Client to server: who of the team published what in a run. */
export const MessagesRequest = new RequestType<{ readonly runId: string }, MessagesResult, void>("rolecall/messages");

export interface StatusResult {
  readonly model: {
    readonly state: "fine" | "limited" | "broken";
    /** Which model answers and why, or why none does, in a sentence. */
    readonly what: string;
    readonly label?: string;
  };
}

/** Client to server: which model answers; no model is asked anything for it. */
export const StatusRequest = new RequestType<object, StatusResult, void>("rolecall/status");

export interface OfferedModel {
  readonly id: string;
  readonly name: string;
  readonly vendor: string;
  readonly family: string;
  readonly maxInputTokens: number;
}

/** Server to client: which language models the editor has, the one it would choose first. */
export const ModelListRequest = new RequestType<object, { readonly models: OfferedModel[] }, void>("rolecall/model/list");

export interface ModelMessage {
  readonly role: "system" | "user" | "assistant";
  readonly text: string;
}

export interface ModelAskParams {
  readonly callId: string;
  /** The `vendor` and the `id` of an offered model; either alone may be that of several. */
  readonly vendor: string;
  readonly model: string;
  readonly messages: readonly ModelMessage[];
  /** What the developer reads where the editor asks for consent. */
  readonly justification: string;
}

export interface ModelFailure {
  readonly kind: "consent" | "notFound" | "blocked" | "tooLong" | "quota" | "cancelled" | "other";
  readonly message: string;
}

export interface ModelAskResult {
  /** All of the answer, its pieces included. */
  readonly text: string;
  readonly promptTokens?: number | undefined;
  readonly completionTokens?: number | undefined;
  /** Why there is no answer. */
  readonly error?: ModelFailure;
}

/** Server to client: asks one of the editor's models; taken back with `$/cancelRequest`. */
export const ModelAskRequest = new RequestType<ModelAskParams, ModelAskResult, void>("rolecall/model/ask");

export interface ModelDeltaParams {
  readonly callId: string;
  readonly text: string;
}

/** Client to server: a piece of an answer that is coming. */
export const ModelDeltaNotification = new NotificationType<ModelDeltaParams>("rolecall/model/delta");

export interface UsageResult {
  /** What was used today, in words. */
  readonly text: string;
}

/** Client to server: what the models have used. */
export const UsageRequest = new RequestType<Record<string, never>, UsageResult, void>("rolecall/usage");

/** `trusted`: the editor has asked already, because the extension does not start in a workspace that is not trusted. */
export const EXPERIMENTAL_CAPABILITIES: ClientCapabilities["experimental"] = {
  rolecall: { input: true, models: true, trusted: true },
};
