/** What a click on the status bar offers, and what is said before a command that needs a model begins. */

import { t } from "@vscode/l10n";
import { commands, window, workspace } from "vscode";
import type { QuickPickItem } from "vscode";

import { asNotice } from "./plainText.ts";
import type { State } from "./state.ts";

interface Offer extends QuickPickItem {
  readonly command: string;
}

const OFFERS: readonly Offer[] = [
  { label: `$(beaker) ${t("Generate tests for the file in the editor")}`, command: "rolecall.tests.generate" },
  { label: `$(edit) ${t("Implement… in one line")}`, command: "rolecall.brief.implement" },
  { label: `$(note) ${t("Write a brief…")}`, command: "rolecall.brief.write" },
  { label: `$(sparkle) ${t("Choose the model…")}`, command: "rolecall.model.choose" },
  { label: `$(output) ${t("Show the log")}`, command: "rolecall.logs.show" },
];
const AT_WORK: readonly Offer[] = [
  { label: `$(debug-pause) ${t("Pause the run")}`, command: "rolecall.run.pause" },
  { label: `$(stop-circle) ${t("Cancel the run")}`, command: "rolecall.run.cancel" },
  { label: `$(eye) ${t("Show what was sent")}`, command: "rolecall.run.context" },
];

/** The commands that ask a model whatever comes. */
const NEEDS_MODEL: ReadonlySet<string> = new Set(["rolecall.brief.implement", "rolecall.brief.write", "rolecall.run.start"]);

export async function showMenu(state: State): Promise<void> {
  const { runs, stopped } = state.activity ?? { runs: [], stopped: [] };
  const [last] = stopped;
  const resume = last ? [{ label: `$(debug-continue) ${t("Go on with: {0}", last.brief)}`, command: "rolecall.run.resume" }] : [];
  const offers = [...(runs.length > 0 ? AT_WORK : resume), ...OFFERS];
  const picked = await window.showQuickPick(offers, { title: "Rolecall", placeHolder: state.model?.what ?? "" });
  if (picked !== undefined) {
    await commands.executeCommand(picked.command);
  }
}

/** The commands that begin a run, which the server refuses in Restricted Mode. */
const NEEDS_TRUST: ReadonlySet<string> = new Set([
  ...NEEDS_MODEL,
  "rolecall.tests.generate",
  "rolecall.review",
  "rolecall.run.resume",
  "rolecall.hunk.revise",
  "rolecall.proposal.revise",
]);

/** Whether a command may begin: with no model, that is said before a brief is typed, with what helps beside it. */
export async function mayBegin(command: string, state: State): Promise<boolean> {
  if (NEEDS_TRUST.has(command) && !workspace.isTrusted) {
    await askForTrust();
    return false;
  }
  if (!NEEDS_MODEL.has(command) || state.model === undefined || state.model.label !== undefined) {
    return true;
  }
  // One may have been started or chosen since it was asked for last.
  const model = await state.askModel();
  if (model === undefined || model.label !== undefined) {
    return true;
  }
  const said = t("Rolecall: This needs a language model, and there is none. Tests can be written without one.");
  const [choose, generate] = [t("Choose Model"), t("Generate Tests")];
  const chosen = await window.showWarningMessage(asNotice(said), choose, generate);
  if (chosen === choose) {
    await commands.executeCommand("rolecall.model.choose");
  } else if (chosen === generate) {
    await commands.executeCommand("rolecall.tests.generate");
  }
  return false;
}

async function askForTrust(): Promise<void> {
  const said = t("Rolecall runs nothing in Restricted Mode. Proposals that are there can be read and decided.");
  if ((await window.showWarningMessage(asNotice(said), t("Manage Trust"))) !== undefined) {
    await commands.executeCommand("workbench.trust.manage");
  }
}

/** Offers once to go on with a run that was stopped before its end. */
export async function offerToResume(runId: string, state: string, brief: string): Promise<void> {
  const what = state === "paused" ? t("{0} is paused: {1}", runId, brief) : t("{0} was interrupted: {1}", runId, brief);
  if ((await window.showInformationMessage(asNotice(t("Rolecall: {0}", what)), t("Resume"))) !== undefined) {
    await commands.executeCommand("rolecall.run.resume", { runId });
  }
}
