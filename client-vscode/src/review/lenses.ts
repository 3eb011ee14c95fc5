/** Above each hunk in a diff: accept, reject, revise, why. */

import { t } from "@vscode/l10n";
import { CodeLens, EventEmitter, languages, Range } from "vscode";
import type { CodeLensProvider, Command, Disposable } from "vscode";

import type { ReviewFile, ReviewHunk, ReviewProposal } from "../protocol.ts";
import { fileAt, hunkOf } from "./desk.ts";
import type { Desk } from "./desk.ts";
import { addressOf, AFTER } from "./files.ts";
import { nameOf } from "./words.ts";

export function registerLenses(desk: Desk): Disposable[] {
  const changed = new EventEmitter<void>();
  const provider: CodeLensProvider = {
    onDidChangeCodeLenses: changed.event,
    async provideCodeLenses(document) {
      const address = addressOf(document.uri);
      const proposal = address && desk.find(address.proposalId);
      const file = proposal && fileAt(proposal, address.path);
      if (!proposal || !file) {
        return [];
      }
      const sides = await desk.sides(proposal.proposalId, file.path);
      return sides.hunks.flatMap(({ hunkId, right }) => {
        const hunk = hunkOf(file, hunkId);
        // Lines that go from the end of a text have their place behind its last line.
        const at = Math.min(right.start, document.lineCount - 1);
        return hunk === undefined
          ? []
          : actions(proposal, file, hunk).map((command) => new CodeLens(new Range(at, 0, at, 0), command));
      });
    },
  };
  return [
    changed,
    desk.onDidChange(() => changed.fire()),
    languages.registerCodeLensProvider({ scheme: AFTER }, provider),
  ];
}

function actions(proposal: ReviewProposal, file: ReviewFile, hunk: ReviewHunk): Command[] {
  const target = { proposalId: proposal.proposalId, path: file.path, hunkIds: [hunk.hunkId] };
  const tooltip = nameOf(proposal, hunk);
  const [one, needs] = [hunk.hunkId, hunk.needs.join(", ")];
  const caution = hunk.cautions.length > 0 || file.guarded !== "" ? "$(warning) " : "";
  const command = (name: string, title: string): Command => ({ command: `rolecall.review.${name}`, title, tooltip, arguments: [target] });
  return [
    command("accept", `${caution}$(check) ${needs === "" ? t("Accept {0}", one) : t("Accept {0} with {1}", one, needs)}`),
    command("reject", `$(close) ${t("Reject {0}", one)}`),
    ...(hunk.kind === "text" ? [command("revise", `$(sync) ${t("Revise {0}…", one)}`)] : []),
    command("why", `$(comment) ${t("Why {0}", one)}`),
  ];
}
