/** The editor's own language models, for a server that has none of its own: listed, asked, streamed, cancelled. */

import { t } from "@vscode/l10n";
import { CancellationError, LanguageModelChatMessage, LanguageModelError, lm } from "vscode";
import type { CancellationToken, Disposable, LanguageModelChat } from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";

import { ModelAskRequest, ModelDeltaNotification, ModelListRequest } from "./protocol.ts";
import type { ModelAskParams, ModelAskResult, ModelFailure, ModelMessage, OfferedModel } from "./protocol.ts";

/** Answers the server's questions about models until it is disposed. */
export function serveModels(client: LanguageClient): Disposable[] {
  return [
    client.onRequest(ModelListRequest, async () => ({ models: (await lm.selectChatModels()).map(describe) })),
    client.onRequest(ModelAskRequest, (params, token) => ask(client, params, token)),
  ];
}

function describe(model: LanguageModelChat): OfferedModel {
  const { id, name, vendor, family, maxInputTokens } = model;
  return { id, name, vendor, family, maxInputTokens };
}

/** The model's whole answer, its pieces sent ahead as they come; or why there is none, in words of the protocol. */
async function ask(
  client: LanguageClient,
  { callId, vendor, model: id, messages, justification }: ModelAskParams,
  token: CancellationToken,
): Promise<ModelAskResult> {
  const [model] = await lm.selectChatModels({ vendor, id });
  if (model === undefined) {
    return { text: "", error: { kind: "notFound", message: t("The editor no longer offers {0}.", id) } };
  }
  const said = messages.map(toChatMessage);
  let text = "";
  try {
    const response = await model.sendRequest(said, { justification }, token);
    for await (const piece of response.text) {
      text += piece;
      await client.sendNotification(ModelDeltaNotification, { callId, text: piece });
    }
  } catch (error) {
    return { text, error: describeFailure(error, token) };
  }
  const [promptTokens, completionTokens] = await Promise.all([
    countTokens(model, said, token),
    countTokens(model, [text], token),
  ]);
  return { text, promptTokens, completionTokens };
}

/** VS Code's models know no system role: what would be one is said by the user, before anything else. */
function toChatMessage({ role, text }: ModelMessage): LanguageModelChatMessage {
  return role === "assistant" ? LanguageModelChatMessage.Assistant(text) : LanguageModelChatMessage.User(text);
}

/** How many tokens *said* takes; undefined where the provider cannot say: its answer counts nevertheless. */
async function countTokens(
  model: LanguageModelChat,
  said: readonly (string | LanguageModelChatMessage)[],
  token: CancellationToken,
): Promise<number | undefined> {
  try {
    const counts = await Promise.all(said.map((each) => model.countTokens(each, token)));
    // Providers that estimate give fractions, and those that do not count give 0.
    return Math.ceil(counts.reduce((sum, count) => sum + count, 0)) || undefined;
  } catch {
    return undefined;
  }
}

function describeFailure(error: unknown, token: CancellationToken): ModelFailure {
  const message = error instanceof Error ? error.message : String(error);
  if (token.isCancellationRequested || error instanceof CancellationError) {
    return { kind: "cancelled", message };
  }
  const kinds: Record<string, ModelFailure["kind"]> = {
    [LanguageModelError.NoPermissions().code]: "consent",
    [LanguageModelError.NotFound().code]: "notFound",
    [LanguageModelError.Blocked().code]: "blocked",
  };
  const known = error instanceof LanguageModelError ? kinds[error.code] : undefined;
  return { kind: known ?? kindOfWords(message), message };
}

/** A rate limit or a prompt that is too long has no code, and often no error class, of its own: providers only say so. */
function kindOfWords(message: string): ModelFailure["kind"] {
  if (/rate.?limit|quota|too many requests/i.test(message)) {
    return "quota";
  }
  return /too long|token limit|context (length|window)|max(imum)? (prompt|context)/i.test(message) ? "tooLong" : "other";
}
