/** Files that an edit makes, with their texts: VS Code would make them empty, and hold the texts back unsaved. */

import type { TextDocumentEdit, WorkspaceEdit } from "vscode-languageclient/node";

export interface NewFile {
  readonly uri: string;
  readonly text: string;
}

export interface Parted {
  /** What is left of the edit; it changes files that are there. */
  readonly rest: WorkspaceEdit;
  readonly files: readonly NewFile[];
}

type Change = NonNullable<WorkspaceEdit["documentChanges"]>[number];

/** Takes the files that *edit* makes out of it, where each has its whole text there. */
export function partNewFiles(edit: WorkspaceEdit): Parted {
  const changes = edit.documentChanges ?? [];
  const made = new Set(changes.flatMap((change) => ("kind" in change && change.kind === "create" ? [change.uri] : [])));
  const texts = new Map<string, string>();
  for (const change of changes) {
    const text = isText(change) && made.has(change.textDocument.uri) ? wholeText(change) : undefined;
    if (text !== undefined) {
      texts.set((change as TextDocumentEdit).textDocument.uri, text);
    }
  }
  const left = changes.filter((change) => !texts.has(addressOf(change)));
  const files = [...texts].map(([uri, text]) => ({ uri, text }));
  return { rest: files.length > 0 ? { ...edit, documentChanges: left } : edit, files };
}

function isText(change: Change): change is TextDocumentEdit {
  return "textDocument" in change;
}

/** The file that a change is about; empty where it is about two. */
function addressOf(change: Change): string {
  return isText(change) ? change.textDocument.uri : "uri" in change ? change.uri : "";
}

/** The text that is put into an empty file; undefined where something is said of other lines. */
function wholeText(change: TextDocumentEdit): string | undefined {
  const [only] = change.edits;
  if (only === undefined || change.edits.length > 1 || !("newText" in only)) {
    return undefined;
  }
  const { start, end } = only.range;
  const isAtTheBeginning = [start.line, start.character, end.line, end.character].every((number) => number === 0);
  return isAtTheBeginning ? only.newText : undefined;
}
