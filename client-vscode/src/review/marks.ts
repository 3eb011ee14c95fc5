/** Hunks that wait, in the files they are about: a bar in the gutter and the overview ruler, with a hover. */

import { t } from "@vscode/l10n";
import { DecorationRangeBehavior, OverviewRulerLane, ThemeColor, Uri, window } from "vscode";
import type { DecorationOptions, Disposable, ExtensionContext, TextEditor } from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";

import type { ReviewHunk } from "../protocol.ts";
import type { Server } from "../server.ts";
import type { Desk } from "./desk.ts";
import { addressOf } from "./files.ts";
import { commandLink } from "./links.ts";
import { about } from "./threads.ts";
import { isOpen } from "./words.ts";

type Look = "added" | "changed" | "removed" | "stale";
const COLOURS: Record<Look, string> = {
  added: "editorGutter.addedBackground",
  changed: "editorGutter.modifiedBackground",
  removed: "editorGutter.deletedBackground",
  stale: "editorWarning.foreground",
};
const COMMANDS = ["rolecall.review.accept", "rolecall.review.reject", "rolecall.review.show"];

export function registerMarks(context: ExtensionContext, server: Server, desk: Desk): Disposable[] {
  const types = Object.fromEntries(
    Object.entries(COLOURS).map(([look, colour]) => [
      look,
      window.createTextEditorDecorationType({
        isWholeLine: true,
        gutterIconPath: Uri.joinPath(context.extensionUri, "media", `hunk-${look}.svg`),
        gutterIconSize: "contain",
        overviewRulerColor: new ThemeColor(colour),
        overviewRulerLane: OverviewRulerLane.Left,
        rangeBehavior: DecorationRangeBehavior.ClosedClosed,
      }),
    ]),
  ) as Record<Look, ReturnType<typeof window.createTextEditorDecorationType>>;

  async function draw(editors: readonly TextEditor[]): Promise<void> {
    const client = await server.ready().catch(() => undefined);
    for (const editor of editors.filter(({ document }) => addressOf(document.uri) === undefined)) {
      const marks = client === undefined ? [] : marksIn(desk, client, editor);
      for (const look of Object.keys(types) as Look[]) {
        editor.setDecorations(types[look], marks.filter((mark) => mark.look === look));
      }
    }
  }
  const drawAll = (): void => void draw(window.visibleTextEditors);
  return [
    ...Object.values(types),
    desk.onDidChange(drawAll),
    window.onDidChangeVisibleTextEditors((editors) => void draw(editors)),
  ];
}

function marksIn(desk: Desk, client: LanguageClient, editor: TextEditor): (DecorationOptions & { look: Look })[] {
  const uri = editor.document.uri.toString();
  return desk.now().proposals.flatMap((proposal) =>
    proposal.files.flatMap((file) =>
      file.hunks.flatMap((hunk) => {
        // Parsed first: the server may encode the same address in another way than VS Code does.
        if (hunk.place === null || !isOpen(hunk) || Uri.parse(hunk.place.uri).toString() !== uri) {
          return [];
        }
        const target = { proposalId: proposal.proposalId, path: file.path, hunkIds: [hunk.hunkId] };
        const hover = about(proposal, file, hunk);
        // These commands and no others: the hover also has words that others wrote.
        hover.isTrusted = { enabledCommands: COMMANDS };
        const links = [
          commandLink(`$(diff) ${t("Show {0} in the diff", hunk.hunkId)}`, "rolecall.review.show", target),
          ...(hunk.state === "stale" ? [] : [commandLink(`$(check) ${t("Accept {0}", hunk.hunkId)}`, "rolecall.review.accept", target)]),
          commandLink(`$(close) ${t("Reject {0}", hunk.hunkId)}`, "rolecall.review.reject", target),
        ];
        hover.appendMarkdown(`\n\n${links.join("&nbsp;&nbsp;&nbsp;")}`);
        return [{ range: client.protocol2CodeConverter.asRange(hunk.place.range), hoverMessage: hover, look: lookOf(hunk) }];
      }),
    ),
  );
}

function lookOf(hunk: ReviewHunk): Look {
  if (hunk.state === "stale") {
    return "stale";
  }
  return hunk.removed === 0 ? "added" : hunk.added === 0 ? "removed" : "changed";
}
