/** What the editor's own assistant may ask of Rolecall, and what it is told. Nothing here knows VS Code. */

import type { GraphNode, GraphParams, GraphResult, ProposeParams, ProposeResult, ReviewProposal, ReviewResult } from "../protocol.ts";
import { openHunks } from "../review/words.ts";

/** How a run ended; `problem` where it did not begin. */
export interface EndedRun {
  readonly state: string;
  readonly proposalId: string;
  readonly problem: string;
}

/** The ways to the server, and to the files that are open. */
export interface Port {
  propose(params: ProposeParams): Promise<ProposeResult>;
  graph(params: GraphParams): Promise<GraphResult>;
  review(): Promise<ReviewResult>;
  /** Has a run begin by a command of the server, and waits until it ended. */
  run(command: string, args: object): Promise<EndedRun>;
  /** The URI of a path in the opened folders; undefined where there is no such file. */
  uriOf(path: string): Promise<string | undefined>;
}

const ORIGIN = "VS Code agent";
const MOST_NAMED = 60;
const IMPACT_STEPS = 3;

export const UNDER_REVIEW =
  "It is under review: nothing is written until the developer accepts it, hunk by hunk. Do not make the same edit in another way.";

export interface ProposeInput {
  readonly title?: string;
  readonly rationale?: string;
  readonly files?: ProposeParams["files"];
  readonly diff?: string;
}

export async function proposeEdit(port: Port, input: ProposeInput): Promise<string> {
  const { title = "", rationale = "", files, diff } = input;
  const edit = files !== undefined && files.length > 0 ? { files } : { diff: diff ?? "" };
  const answer = await port.propose({ origin: ORIGIN, title, rationale, ...edit });
  if (answer.problem !== "") {
    return `This is no proposal. ${answer.problem}`;
  }
  const hunks = answer.hunks.map(({ hunkId, path, symbol }) => [hunkId, path, symbol].filter(Boolean).join(" "));
  return [`${answer.proposalId}: ${answer.title ?? ""}`, ...named(hunks), ...answer.evidence, UNDER_REVIEW].join("\n");
}

export interface GraphInput {
  readonly question?: string;
  readonly path?: string;
  readonly symbol?: string;
}

const QUESTIONS: Readonly<Record<string, { readonly title: string; readonly wants: (node: GraphNode) => boolean; readonly kind: GraphParams["kind"] }>> = {
  callers: { title: "Callers", kind: "calls", wants: ({ distance }) => distance < 0 },
  callees: { title: "What it calls", kind: "calls", wants: ({ distance }) => distance > 0 },
  impact: { title: "What a change may touch", kind: "impact", wants: ({ distance }) => distance < 0 },
  tests: { title: "Tests that reach it", kind: "impact", wants: ({ distance, test }) => distance < 0 && test },
  definition: { title: "Definition", kind: "calls", wants: ({ distance }) => distance === 0 },
};

export async function askGraph(port: Port, { question = "", path = "", symbol }: GraphInput): Promise<string> {
  // A model may also ask for `constructor`, which every object inherits.
  const asked = Object.hasOwn(QUESTIONS, question) ? QUESTIONS[question] : undefined;
  if (asked === undefined) {
    return `There is no such question. Ask one of: ${Object.keys(QUESTIONS).join(", ")}.`;
  }
  const uri = await port.uriOf(path);
  if (uri === undefined) {
    return `There is no file ${path} in the opened folders. Name it relative to the folder.`;
  }
  const steps = asked.kind === "impact" ? IMPACT_STEPS : 1;
  const rest = { uri, kind: asked.kind, steps, limit: 200, possible: false, tests: true };
  const found = await port.graph(symbol === undefined || symbol === "" ? rest : { ...rest, symbol });
  if (found.problem !== "") {
    return found.problem;
  }
  const center = found.center === null ? undefined : found.nodes[found.center];
  // Where it finds no such symbol, the server answers about the module.
  if (symbol && center?.symbol !== symbol) {
    return `${path} defines no ${symbol}. Give its dotted name in that file, such as Cart.total.`;
  }
  const nodes = found.nodes.filter(asked.wants).sort((one, other) => Math.abs(one.distance) - Math.abs(other.distance));
  const lines = nodes.map((node) => `${node.path}:${node.range.start.line + 1} ${node.symbol || node.name} (${node.kind})`);
  const possible = found.leftOut.possible ?? 0;
  return [
    `${asked.title} (${center?.symbol || path}), as far as the code graph could follow it for certain:`,
    ...(lines.length > 0 ? named(lines) : ["none"]),
    ...(possible > 0 ? [`${possible} more are possible by their name alone.`] : []),
    ...(found.isComplete ? [] : ["This is not all: a limit cut it off."]),
  ].join("\n");
}

export interface TestsInput {
  readonly path?: string;
  readonly symbol?: string;
  readonly brief?: string;
}

export async function generateTests(port: Port, { path = "", symbol = "", brief = "" }: TestsInput): Promise<string> {
  const uri = await port.uriOf(path);
  if (uri === undefined) {
    return `There is no file ${path} in the opened folders. Name it relative to the folder.`;
  }
  return describeEnd(port, await port.run("rolecall.tests.generate", { uri, symbol, brief }));
}

/** How a run ended, with what it proposes. */
export async function describeEnd(port: Port, ended: EndedRun): Promise<string> {
  if (ended.problem !== "") {
    return ended.problem;
  }
  const proposal = (await port.review()).proposals.find(({ proposalId }) => proposalId === ended.proposalId);
  if (proposal === undefined) {
    return `The run is ${ended.state}${ended.proposalId === "" ? ", and proposes nothing" : ""}. Rolecall has told the developer why.`;
  }
  return `${describeProposal(proposal)}\n${UNDER_REVIEW}`;
}

export async function whatWaits(port: Port): Promise<string> {
  const { proposals } = await port.review();
  if (proposals.length === 0) {
    return "Nothing waits to be decided.";
  }
  return proposals.map(describeProposal).join("\n\n");
}

function describeProposal({ proposalId, title, role, evidence, files }: ReviewProposal): string {
  const rows = files.map((file) => {
    const hunks = openHunks([file]);
    return `- ${file.newPath || file.path} (${file.kind}): ${hunks.map(({ hunkId, title: what }) => `${hunkId} ${what}`).join("; ") || "decided"}`;
  });
  return [`${proposalId} by ${role}: ${title}`, evidence.misfit || evidence.text, ...named(rows)].filter(Boolean).join("\n");
}

function named(lines: readonly string[]): string[] {
  const more = lines.length - MOST_NAMED;
  return more > 0 ? [...lines.slice(0, MOST_NAMED), `and ${more} more`] : [...lines];
}
