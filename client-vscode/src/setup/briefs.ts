/** Briefs longer than a line: an untitled Markdown document with *Run* in its title bar. */

import { t } from "@vscode/l10n";
import { commands, Range, Uri, window, workspace } from "vscode";
import type { Disposable, TextDocument } from "vscode";

import type { Server } from "../server.ts";

/** Where the developer was when the brief was begun. */
interface Origin {
  readonly uri: Uri;
  readonly range: Range;
}

const NOTE = /<!--[\s\S]*?-->/g;

/** Below the brief: the editor names an unsaved document by its first line. */
const GUIDANCE = `<!-- ${t("Say above what shall be done; name files by their paths. Run it with the button above, or Ctrl+Enter.")} -->`;

export function createBriefs(server: Server, mayBegin: () => Promise<boolean>): Disposable[] {
  const origins = new Map<string, Origin | undefined>();

  function tellContext(): void {
    void commands.executeCommand("setContext", "rolecall.briefs", [...origins.keys()]);
  }

  async function write(): Promise<void> {
    const editor = window.activeTextEditor;
    const origin = editor?.document.uri.scheme === "file" ? { uri: editor.document.uri, range: editor.selection } : undefined;
    if (!(await mayBegin())) {
      return;
    }
    const start = template(origin, editor?.document);
    const document = await workspace.openTextDocument({ language: "markdown", content: `${start}\n\n${GUIDANCE}\n` });
    origins.set(document.uri.toString(), origin);
    tellContext();
    const end = document.positionAt(start.length);
    await window.showTextDocument(document, { selection: new Range(end, end) });
  }

  /** *address* is no address where a title bar tells its group alone, see `commands.ts`. */
  async function run(address?: unknown): Promise<void> {
    const uri = address instanceof Uri ? address : window.activeTextEditor?.document.uri;
    const text = workspace.textDocuments.find((each) => each.uri.toString() === uri?.toString())?.getText() ?? "";
    const brief = text.replace(NOTE, "").trim();
    if (uri === undefined || brief === "") {
      void window.showInformationMessage(t("Rolecall: write above what shall be done, then run it."));
      return;
    }
    const origin = origins.get(uri.toString());
    const convert = (await server.ready()).code2ProtocolConverter;
    const place = origin && { uri: convert.asUri(origin.uri), range: convert.asRange(origin.range) };
    await commands.executeCommand("rolecall.run.start", { brief, ...place });
  }

  return [
    commands.registerCommand("rolecall.brief.write", write),
    commands.registerCommand("rolecall.brief.run", run),
    workspace.onDidCloseTextDocument((document) => {
      if (origins.delete(document.uri.toString())) {
        tellContext();
      }
    }),
  ];
}

/** What a brief about the lines that were selected begins with. */
function template(origin: Origin | undefined, document: TextDocument | undefined): string {
  if (origin === undefined || document === undefined) {
    return "";
  }
  const where = workspace.asRelativePath(origin.uri, false);
  if (origin.range.isEmpty) {
    return `In \`${where}\`: `;
  }
  // A fence must be longer than any run of backticks in the code.
  const fence = "`".repeat(Math.max(3, ...[...document.getText(origin.range).matchAll(/`+/g)].map((run) => run[0].length + 1)));
  const code = `${fence}${document.languageId}\n${document.getText(origin.range).replace(/\n$/, "")}\n${fence}`;
  return `In \`${where}\`, lines ${origin.range.start.line + 1} to ${origin.range.end.line + 1}:\n\n${code}\n\n`;
}
