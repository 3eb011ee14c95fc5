/** `@rolecall` in the chat: /tests, /implement, /team and /review. What it begins becomes a proposal, never an edit. */

import { t } from "@vscode/l10n";
import { Location, Uri, window } from "vscode";
import type { ChatRequest, ChatResponseStream } from "vscode";

import { asMarkdown } from "../review/words.ts";
import { describeEnd, whatWaits } from "./answers.ts";
import type { Port } from "./answers.ts";

interface Errand {
  readonly command: string;
  readonly doing: string;
  /** Why it cannot be done with an empty brief; empty where it can. */
  readonly needsBrief: string;
  readonly needsFile: boolean;
}

const ERRANDS: Readonly<Record<string, Errand>> = {
  tests: { command: "rolecall.tests.generate", doing: t("writing tests"), needsBrief: "", needsFile: true },
  implement: {
    command: "rolecall.brief.implement",
    doing: t("working on it"),
    needsBrief: t("Say what is to be implemented: `@rolecall /implement let prices carry a tax`."),
    needsFile: true,
  },
  team: {
    command: "rolecall.run.start",
    doing: t("the team is at work"),
    needsBrief: t("Say what the team is to do: `@rolecall /team let carts have discounts`."),
    needsFile: false,
  },
};

/** Answers a message to `@rolecall`; without a command it says what waits. */
export async function answer(port: Port, request: ChatRequest, stream: ChatResponseStream): Promise<void> {
  const errand = request.command === undefined ? undefined : ERRANDS[request.command];
  if (errand === undefined) {
    stream.markdown(asMarkdown(await whatWaits(port)));
  } else {
    const refusal = await carryOut(port, errand, request, stream);
    if (refusal !== "") {
      stream.markdown(refusal);
      return;
    }
  }
  stream.button({ command: "rolecall.review.show", title: t("Review Proposals") });
}

/** Why it was not done; empty where it was. */
async function carryOut(port: Port, errand: Errand, request: ChatRequest, stream: ChatResponseStream): Promise<string> {
  const brief = request.prompt.trim();
  if (brief === "" && errand.needsBrief !== "") {
    return errand.needsBrief;
  }
  const uri = fileOf(request);
  if (uri === undefined && errand.needsFile) {
    return t("Open the file that it is about, or add it to the message.");
  }
  stream.progress(`Rolecall: ${errand.doing}…`);
  const ended = await port.run(errand.command, { ...(uri === undefined ? {} : { uri: uri.toString() }), brief });
  stream.markdown(asMarkdown(await describeEnd(port, ended)));
  return "";
}

/** The file that was added to the message, else that of the active editor. */
function fileOf(request: ChatRequest): Uri | undefined {
  const named = request.references
    .map(({ value }) => (value instanceof Location ? value.uri : value))
    .find((value): value is Uri => value instanceof Uri && value.scheme === "file");
  const active = window.activeTextEditor?.document.uri;
  return named ?? (active?.scheme === "file" ? active : undefined);
}
