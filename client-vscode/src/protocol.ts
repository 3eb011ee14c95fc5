/** What Rolecall's server and this client say to each other beyond LSP; docs/protocol.md describes it. */

import { NotificationType, RequestType } from "vscode-languageclient/node";
import type { ClientCapabilities, Position, Range } from "vscode-languageclient/node";

/** The commands that the server executes, each with what it needs from the editor when called without arguments. */
export const SERVER_COMMANDS = {
  "rolecall.tests.generate": "editor",
  "rolecall.brief.implement": "editor",
  "rolecall.review": "editor",
  "rolecall.fix": "editor",
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
  "rolecall.proposal.revise": "editor if any",
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
  /** What it proposes, where it does. */
  readonly proposalId?: string;
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

export interface ReviewHunk {
  readonly hunkId: string;
  readonly kind: "text" | "create" | "delete" | "rename";
  readonly state: "pending" | "edited" | "accepted" | "rejected" | "stale";
  /** Why it is in that state, where something was said. */
  readonly reason: string;
  readonly title: string;
  readonly symbol: string;
  /** Whether its text is the developer's. */
  readonly edited: boolean;
  /** Only its own acceptance takes it: a test that shows a finding, marked to fail. */
  readonly off: boolean;
  readonly needs: readonly string[];
  readonly serves: readonly string[];
  readonly touches: string;
  /** What to know before it is accepted, a sentence each. */
  readonly cautions: readonly string[];
  readonly evidence: readonly string[];
  readonly added: number;
  readonly removed: number;
  /** Where it stands in the file; null where that does not exist yet, and once it is decided. */
  readonly place: { readonly uri: string; readonly range: Range } | null;
}

export interface ReviewFile {
  readonly path: string;
  /** Empty where it keeps its own. */
  readonly newPath: string;
  readonly kind: "changed" | "added" | "deleted" | "renamed";
  readonly uri: string;
  /** What its text is known by as it stands. */
  readonly version: string;
  /** Why it may act on its own; empty where it does not. */
  readonly guarded: string;
  readonly hunks: readonly ReviewHunk[];
}

export interface ReviewProposal {
  readonly proposalId: string;
  readonly runId: string;
  readonly role: string;
  readonly title: string;
  readonly rationale: string;
  readonly root: string;
  readonly evidence: {
    readonly text: string;
    readonly lines: readonly string[];
    /** Why it is about other texts than those that can be accepted now; empty where it is about these. */
    readonly misfit: string;
  };
  readonly counts: Readonly<Partial<Record<ReviewHunk["state"], number>>>;
  readonly tasks: readonly { readonly taskId: string; readonly title: string }[];
  readonly files: readonly ReviewFile[];
}

export interface ReviewResult {
  /** Those with something undecided, the newest first. */
  readonly proposals: readonly ReviewProposal[];
  /** What an undo takes back; null where nothing is left to. */
  readonly undo: { readonly proposalId: string; readonly hunkIds: readonly string[]; readonly text: string } | null;
}

/** Client to server: what waits to be decided. */
export const ReviewRequest = new RequestType<object, ReviewResult, void>("rolecall/review");

/** Server to client: what waits to be decided is something else by now. */
export const ReviewNotification = new NotificationType<object>("rolecall/review/changed");

/** Lines, from 0, without the last. */
export interface Lines {
  readonly start: number;
  readonly end: number;
}

export interface ReviewTextResult {
  /** Null where the file does not exist yet. */
  readonly left: string | null;
  /** Null where the file goes. */
  readonly right: string | null;
  readonly leftPath: string;
  readonly rightPath: string;
  /** What the right side is known by. */
  readonly version: string;
  readonly hunks: readonly { readonly hunkId: string; readonly left: Lines; readonly right: Lines }[];
}

/** Client to server: a file as it stands, and as it would stand with what is on offer of a proposal. */
export const ReviewTextRequest = new RequestType<
  { readonly proposalId: string; readonly path: string },
  ReviewTextResult,
  void
>("rolecall/review/text");

export interface ReviewSaveParams {
  readonly proposalId: string;
  readonly path: string;
  /** That of the right side that was edited. */
  readonly version: string;
  readonly text: string;
}

export interface ReviewSaveResult {
  /** The hunks that were edited, or rejected by being taken back. */
  readonly hunkIds: readonly string[];
  /** Why nothing was taken, and what to do; empty where it was. */
  readonly problem: string;
}

/** Client to server: the right side of a file, as the developer edited it. */
export const ReviewSaveRequest = new RequestType<ReviewSaveParams, ReviewSaveResult, void>("rolecall/review/save");

export type Outcome = "passed" | "failed" | "error" | "skipped" | "xfailed" | "xpassed";

export interface TestCase {
  /** With its parameters, where it has some. */
  readonly testId: string;
  readonly outcome: Outcome;
  readonly message: string;
  readonly seconds: number;
}

export interface ProposedTest {
  readonly testId: string;
  readonly path: string;
  readonly uri: string;
  /** Whether its file is still on offer, so that it stands on the right side of a diff. */
  readonly isOpen: boolean;
  /** Whether the proposal adds or changes it. */
  readonly isBrought: boolean;
  readonly lines: Lines | null;
  readonly cases: readonly TestCase[];
}

export interface ProposalTests {
  readonly proposalId: string;
  readonly title: string;
  readonly root: string;
  readonly isOpen: boolean;
  readonly misfit: string;
  readonly notRun: readonly string[];
  readonly tests: readonly ProposedTest[];
  readonly survivors: readonly { readonly path: string; readonly uri: string; readonly line: number; readonly text: string }[];
  readonly coverage: readonly {
    readonly path: string;
    readonly uri: string;
    readonly before: number | null;
    readonly after: number | null;
  }[];
}

/** Client to server: the tests of proposals, with how they ended. */
export const TestsRequest = new RequestType<
  { readonly proposalIds?: readonly string[] },
  { readonly proposals: readonly ProposalTests[] },
  void
>("rolecall/tests");

export interface CoveredLines {
  readonly reached: readonly number[];
  readonly missed: readonly number[];
  readonly branches: { readonly reached: number; readonly total: number };
  readonly ratio: number;
}

export interface CoveredFile {
  readonly path: string;
  readonly uri: string;
  readonly isOpen: boolean;
  readonly before: CoveredLines | null;
  readonly after: CoveredLines;
}

export interface TestsRunResult {
  readonly proposalId: string;
  readonly ran: boolean;
  /** Why nothing ran, or not to its end. */
  readonly reason: string;
  readonly where: string;
  readonly output: string;
  readonly tests: readonly (TestCase & { readonly detail: string })[];
  readonly coverage: readonly CoveredFile[];
  readonly coverageReason: string;
}

/** Client to server: run tests of a proposal in the sandbox; nothing is written. */
export const TestsRunRequest = new RequestType<
  { readonly proposalId: string; readonly testIds?: readonly string[]; readonly coverage?: boolean },
  TestsRunResult,
  void
>("rolecall/tests/run");

export interface ProposeParams {
  /** Who made the edit, as the developer shall read it. */
  readonly origin: string;
  readonly title: string;
  readonly rationale?: string;
  readonly root?: string;
  /** Whole texts; null for a file that goes. */
  readonly files?: readonly { readonly path: string; readonly text: string | null }[];
  /** In place of them. */
  readonly diff?: string;
}

export interface ProposeResult {
  /** Empty where it became none. */
  readonly proposalId: string;
  readonly problem: string;
  readonly title?: string;
  readonly hunks: readonly { readonly hunkId: string; readonly path: string; readonly symbol: string }[];
  readonly evidence: readonly string[];
}

/** Client to server: an edit that somebody else made becomes a proposal under review. */
export const ProposeRequest = new RequestType<ProposeParams, ProposeResult, void>("rolecall/propose");

export interface QuestionParams {
  readonly question: string;
  readonly answers: readonly string[];
  readonly recommended: string;
}

/** Server to client: what a role wants to know; answered however late, with one of the answers or in own words. */
export const QuestionRequest = new RequestType<QuestionParams, { readonly answer: string | null }, void>(
  "rolecall/question",
);

/** Server to client: which model answers may be another by now. */
export const StatusNotification = new NotificationType<object>("rolecall/status/changed");

export interface Activity {
  /** How far the first scan is; null when it is done. */
  readonly index: { readonly read: number; readonly files: number } | null;
  readonly runs: readonly {
    readonly runId: string;
    readonly role: string;
    readonly step: string;
    /** Seconds since 1970. */
    readonly startedAt: number;
    readonly tokens: number;
  }[];
  readonly waiting: { readonly proposals: number; readonly hunks: number };
  /** A run that stopped before its end. */
  readonly stopped: readonly { readonly runId: string; readonly state: string; readonly brief: string }[];
}

/** Client to server: what is at work and what waits. */
export const ActivityRequest = new RequestType<object, Activity, void>("rolecall/activity");

/** Server to client: that is something else by now. */
export const ActivityNotification = new NotificationType<object>("rolecall/activity/changed");

/** A run as a list shows it; times in seconds since 1970. */
export interface RunInShort {
  readonly runId: string;
  readonly role: string;
  /** The role as one reads it. */
  readonly title: string;
  /** The brief in one line, else the file. */
  readonly about: string;
  readonly path: string;
  readonly state: "running" | "pausing" | "paused" | "waiting" | "finished" | "failed" | "cancelled" | "interrupted";
  readonly error: string;
  readonly startedAt: number;
  readonly endedAt: number | null;
  /** Its latest words, while it is at work. */
  readonly step: string;
  readonly tokens: number;
}

export interface RunMessage {
  readonly message: string;
  readonly kind: string;
  readonly subject: string;
  readonly version: number;
  /** Empty where it is no document. */
  readonly documentId: string;
  readonly sender: string;
  readonly at: number;
}

export interface RunCall {
  readonly call: number;
  readonly role: string;
  readonly model: string;
  readonly state: "working" | "done" | "failed";
  readonly error: string;
  readonly startedAt: number;
  readonly tokens: number;
  readonly cost: number;
}

export interface RunStep {
  readonly role: string;
  readonly title: string;
  /** Such as `S1/T2`; empty for the whole run. */
  readonly subject: string;
  readonly state: "working" | "done" | "failed" | "withdrawn" | "unfinished";
  readonly error: string;
  readonly startedAt: number | null;
  readonly endedAt: number | null;
  readonly read: readonly string[];
  readonly messages: readonly RunMessage[];
  readonly calls: readonly RunCall[];
  readonly tokens: number;
  readonly cost: number;
}

export interface RunTree extends RunInShort {
  readonly cost: number;
  /** Tokens set aside for replies that have not come. */
  readonly setAside: number;
  readonly proposals: readonly string[];
  /** Those of nobody's step. */
  readonly messages: readonly RunMessage[];
  readonly steps: readonly RunStep[];
}

/** Client to server: the latest runs, the newest first. */
export const RunListRequest = new RequestType<object, { readonly runs: readonly RunInShort[] }, void>("rolecall/run/list");

/** Client to server: all that happened in a run. */
export const RunTreeRequest = new RequestType<{ readonly runId: string }, RunTree, void>("rolecall/run/tree");

export interface ModelServer {
  readonly name: string;
  readonly address: string;
  readonly models: readonly { readonly name: string; readonly loaded: boolean; readonly contextTokens: number | null }[];
  readonly problem: string;
}

/** Client to server: the model servers on this machine, or the one at an address. */
export const ModelChoicesRequest = new RequestType<
  { readonly address?: string },
  { readonly servers: readonly ModelServer[] },
  void
>("rolecall/model/choices");

/** Client to server: the key for an address; empty where there is none any more. */
export const ModelKeyRequest = new RequestType<{ readonly address: string; readonly key: string }, object, void>(
  "rolecall/model/key",
);

/** Client to server: try with a few short calls what the model can do. */
export const ModelTestRequest = new RequestType<object, Pick<StatusResult, "model">, void>("rolecall/model/test");

export type GraphKind = "calls" | "impact" | "modules";

export interface GraphParams {
  readonly uri: string;
  readonly position?: Position;
  /** A dotted name in the file; in place of a position. */
  readonly symbol?: string;
  readonly kind: GraphKind;
  readonly steps: number;
  readonly limit: number;
  readonly possible: boolean;
  readonly tests: boolean;
  /** Without the files that are kept from models. */
  readonly forModel?: boolean;
}

export interface GraphNode {
  readonly name: string;
  readonly kind: string;
  /** The dotted name in its file; empty for a module. */
  readonly symbol: string;
  readonly path: string;
  readonly uri: string;
  readonly range: Range;
  /** Steps from the centre: below zero what depends on it, above zero what it depends on. */
  readonly distance: number;
  readonly test: boolean;
}

export interface GraphResult {
  /** A sentence where there is no graph to show. */
  readonly problem: string;
  readonly center: number | null;
  readonly nodes: readonly GraphNode[];
  /** By the numbers of the nodes: what calls, imports or uses, and what is called, imported or used. */
  readonly edges: readonly { readonly from: number; readonly to: number; readonly certain: boolean; readonly rule: string }[];
  readonly leftOut: {
    readonly dependents?: number;
    readonly dependencies?: number;
    readonly possible?: number;
    readonly tests?: number;
  };
  readonly isComplete: boolean;
}

/** Client to server: what lies around a symbol or a module. */
export const GraphRequest = new RequestType<GraphParams, GraphResult, void>("rolecall/graph");

export interface ConfirmParams {
  readonly question: string;
  readonly answers: readonly string[];
}

/** Server to client: a question about what the developer has just asked for; null where none of the answers was chosen. */
export const ConfirmRequest = new RequestType<ConfirmParams, { readonly answer: string | null }, void>("rolecall/confirm");

/** What this client can do beyond LSP; in a workspace that is not trusted the server runs nothing. */
export function experimentalCapabilities(isTrusted: boolean): ClientCapabilities["experimental"] {
  return { rolecall: { graph: true, input: true, models: true, questions: true, restricted: !isTrusted, review: true, trusted: isTrusted } };
}
