/** *Choose Model*: the editor's own, a server on this machine, or an address; then what it can do. */

import { t } from "@vscode/l10n";
import { commands, ConfigurationTarget, lm, ProgressLocation, QuickPickItemKind, window, workspace } from "vscode";
import type { LogOutputChannel, QuickPickItem } from "vscode";
import { DidChangeConfigurationNotification } from "vscode-languageclient/node";
import type { LanguageClient } from "vscode-languageclient/node";

import { ModelChoicesRequest, ModelTestRequest } from "../protocol.ts";
import type { ModelServer } from "../protocol.ts";
import { explain } from "../server.ts";
import type { Server } from "../server.ts";
import type { Keys } from "./keys.ts";
import { asNotice } from "./plainText.ts";
import type { State } from "./state.ts";

/** What the settings name: nothing in either means that Rolecall takes what is there. */
interface Choice {
  readonly name: string;
  readonly baseUrl: string;
}

/** The address that says that a model is the editor's: without it a key in the environment would have another asked. */
const EDITORS = "editor:";

interface Item extends QuickPickItem {
  choose?(): Promise<Choice | undefined>;
}

export async function chooseModel(server: Server, state: State, keys: Keys, log: LogOutputChannel): Promise<void> {
  try {
    const client = await server.ready();
    const picked = await window.showQuickPick(offers(client, keys), {
      title: t("Choose the model that Rolecall's roles ask"),
      placeHolder: state.model?.label ?? t("No model yet"),
      matchOnDescription: true,
      ignoreFocusOut: true,
    });
    const choice = await picked?.choose?.();
    if (choice !== undefined) {
      await take(choice, client);
      await tellAbilities(client, state);
    }
  } catch (error) {
    await explain(error instanceof Error ? error.message : String(error), log);
  }
}

async function offers(client: LanguageClient, keys: Keys): Promise<Item[]> {
  const [own, { servers }] = await Promise.all([editorsModels(), client.sendRequest(ModelChoicesRequest, {})]);
  return [
    heading(t("In this editor")),
    ...own,
    heading(t("On this machine")),
    ...servers.flatMap(modelsOf),
    heading(t("Elsewhere")),
    {
      label: `$(globe) ${t("An address…")}`,
      description: t("any OpenAI-compatible endpoint"),
      choose: () => askAddress(client, keys),
    },
    {
      label: `$(search) ${t("Whatever is there")}`,
      description: t("the editor's own, else a server on this machine"),
      choose: () => Promise.resolve({ name: "", baseUrl: "" }),
    },
  ];
}

async function editorsModels(): Promise<Item[]> {
  // Editors without language models have no `lm`, whatever its type says.
  const models = (await (lm as Partial<typeof lm> | undefined)?.selectChatModels?.()) ?? [];
  return models.map(({ name, vendor, id, maxInputTokens }) => ({
    label: `$(sparkle) ${name}`,
    description: vendor,
    detail: t("up to {0} tokens; your editor asks you before it is used", maxInputTokens.toLocaleString("en-US")),
    choose: () => Promise.resolve({ name: `${vendor}/${id}`, baseUrl: EDITORS }),
  }));
}

function modelsOf({ name, address, models }: ModelServer): Item[] {
  return models.map((model) => ({
    label: `$(server) ${model.name}`,
    description: [name || address, model.loaded ? t("loaded") : ""].filter((part) => part !== "").join(", "),
    choose: () => Promise.resolve({ name: model.name, baseUrl: address }),
  }));
}

function heading(label: string): Item {
  return { label, kind: QuickPickItemKind.Separator };
}

async function askAddress(client: LanguageClient, keys: Keys): Promise<Choice | undefined> {
  const baseUrl = await window.showInputBox({
    title: t("The address of the endpoint"),
    placeHolder: "https://api.example.com/v1",
    ignoreFocusOut: true,
    validateInput: (text) => (/^https?:\/\/[^\s/]+/.test(text.trim()) ? undefined : t("An address begins with http:// or https://.")),
  });
  if (baseUrl === undefined) {
    return undefined;
  }
  const key = await window.showInputBox({
    title: t("The key for {0}", baseUrl.trim()),
    prompt: t("It is kept in this editor's secret storage, and in no settings file. Leave it empty where none is needed."),
    password: true,
    ignoreFocusOut: true,
  });
  if (key === undefined) {
    return undefined;
  }
  // First, because the endpoint may want the key before it lists its models.
  await keys.keep(baseUrl, key.trim());
  const { servers } = await client.sendRequest(ModelChoicesRequest, { address: baseUrl.trim() });
  const problem = servers.map((one) => one.problem).find((each) => each !== "");
  const models = servers.flatMap((one) => one.models.map((model) => model.name));
  const name = models.length > 0 ? await window.showQuickPick(models, naming(baseUrl)) : await askName(problem);
  return name === undefined ? undefined : { name, baseUrl: baseUrl.trim() };
}

function naming(baseUrl: string): { title: string; ignoreFocusOut: true } {
  return { title: t("The model at {0}", baseUrl.trim()), ignoreFocusOut: true };
}

function askName(problem: string | undefined): Thenable<string | undefined> {
  return window.showInputBox({
    title: t("The model's name"),
    prompt: problem ?? t("The endpoint does not say which models it has."),
    ignoreFocusOut: true,
  });
}

/** Writes the settings, and tells them to the server at once: what is asked of it next is about these. */
async function take(choice: Choice, client: LanguageClient): Promise<void> {
  const settings = workspace.getConfiguration("rolecall.model");
  await settings.update("baseUrl", choice.baseUrl || undefined, ConfigurationTarget.Global);
  await settings.update("name", choice.name || undefined, ConfigurationTarget.Global);
  const rolecall: unknown = workspace.getConfiguration().get("rolecall");
  await client.sendNotification(DidChangeConfigurationNotification.type, { settings: { rolecall } });
}

/** A handful of short calls; the answer is told in a sentence. */
async function tellAbilities(client: LanguageClient, state: State): Promise<void> {
  const progress = { location: ProgressLocation.Notification, title: t("Rolecall: trying what the model can do") };
  const { model } = await window.withProgress(progress, () => client.sendRequest(ModelTestRequest, {}));
  await state.askModel();
  if (model.state !== "fine") {
    const chosen = await window.showWarningMessage(asNotice(`Rolecall: ${model.what}`), t("Choose Another"));
    if (chosen !== undefined) {
      await commands.executeCommand("rolecall.model.choose");
    }
  } else {
    void window.showInformationMessage(asNotice(`Rolecall: ${model.what}`));
  }
}
