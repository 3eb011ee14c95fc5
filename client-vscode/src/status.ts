/** What the developer sees of the server's state: one item in the language status, with the command that helps. */

import { languages, LanguageStatusSeverity } from "vscode";
import type { Command, Disposable } from "vscode";

export type ServerState =
  | { readonly kind: "starting" }
  | { readonly kind: "ready"; readonly detail: string }
  | { readonly kind: "working"; readonly detail: string }
  | { readonly kind: "error"; readonly detail: string };

export interface Status extends Disposable {
  show(state: ServerState): void;
}

const SHOW_LOGS: Command = { command: "rolecall.logs.show", title: "Show Logs" };
const RESTART: Command = { command: "rolecall.server.restart", title: "Restart" };
const CANCEL: Command = { command: "rolecall.run.cancel", title: "Cancel" };

export function createStatus(): Status {
  const item = languages.createLanguageStatusItem("rolecall.server", { scheme: "file" });
  item.name = "Rolecall";
  return {
    show(state) {
      item.text = `Rolecall: ${state.kind}`;
      item.detail = state.kind === "starting" ? "" : state.detail;
      item.busy = state.kind === "starting" || state.kind === "working";
      item.severity =
        state.kind === "error" ? LanguageStatusSeverity.Error : LanguageStatusSeverity.Information;
      item.command = state.kind === "error" ? RESTART : state.kind === "working" ? CANCEL : SHOW_LOGS;
    },
    dispose: () => item.dispose(),
  };
}
