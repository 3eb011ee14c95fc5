/** The team at work: a view of its runs, and what one can do with each. */

import { commands, Range, Uri, window, workspace } from "vscode";
import type { Disposable, Event, LogOutputChannel } from "vscode";

import type { Server } from "../server.ts";
import { createRecords } from "./records.ts";
import { createRunsView } from "./tree.ts";
import type { Row } from "./tree.ts";

/** *moved* tells that something goes on or a question waits; *questions* are those that wait. */
export function createRuns(server: Server, moved: Event<void>, questions: () => readonly string[], log: LogOutputChannel): Disposable[] {
  const records = createRecords(server, moved, log);
  const made: Record<string, (row: Row) => unknown> = {
    pause: (row) => onRun("pause", row),
    resume: (row) => onRun("resume", row),
    cancel: (row) => onRun("cancel", row),
    again,
    read: (row) => read(row, "rendered"),
    edit: (row) => read(row, "text"),
    sent,
  };
  const registered = Object.entries(made).map(([name, run]) => commands.registerCommand(`rolecall.runs.${name}`, run));
  return [records, ...createRunsView(records, questions), ...registered];
}

async function onRun(verb: "cancel" | "pause" | "resume", row: Row): Promise<void> {
  if ("run" in row) {
    await commands.executeCommand(`rolecall.run.${verb}`, { runId: row.run.runId });
  }
}

/** Has the step taken anew that published a message, and what rests on it. */
async function again(row: Row): Promise<void> {
  if (row.kind === "message") {
    await commands.executeCommand("rolecall.run.resume", { runId: row.run.runId, again: row.message.message });
  }
}

/** Opens a document of the team: rendered, with its diagrams, or as text with hovers and links, to edit. */
async function read(row: Row, how: "rendered" | "text"): Promise<void> {
  if (row.kind !== "message") {
    return;
  }
  const { documentId } = row.message;
  const told = await commands.executeCommand<{ uri?: string } | undefined>("rolecall.document.show", { documentId, show: false });
  if (told?.uri !== undefined) {
    await commands.executeCommand(how === "rendered" ? "markdown.showPreview" : "vscode.open", Uri.parse(told.uri));
  }
}

/** Opens what was sent in a run, at the call that was chosen. */
async function sent(row: Row): Promise<void> {
  if (!("run" in row)) {
    return;
  }
  const document = await workspace.openTextDocument(Uri.parse(`rolecall-run:/${row.run.runId}/sent.md`));
  // With the comma, so that call 1 is not found at call 12.
  const heading = row.kind === "call" ? `\n## Call ${row.call.call},` : "";
  const found = document.getText().indexOf(heading);
  const at = document.positionAt(found < 0 ? 0 : found + 1);
  await window.showTextDocument(document, { preview: true, selection: new Range(at, at) });
}
