/** What the developer sees of the server's state: one item in the language status, with the command that helps. */

import { languages, LanguageStatusSeverity } from "vscode";
import type { Command, Disposable } from "vscode";

export type ServerState =
  | { readonly kind: "starting" | "working" | "down" }
  | { readonly kind: "ready"; readonly detail: string };

export interface Status extends Disposable {
  show(state: ServerState): void;
}

const SHOW_LOGS: Command = { command: "rolecall.logs.show", title: "Show Logs" };
const CANCEL: Command = { command: "rolecall.run.cancel", title: "Cancel" };
const START: Command = { command: "rolecall.server.restart", title: "Start Again" };

const LOOKS = {
  starting: { text: "Rolecall: starting", busy: true, command: SHOW_LOGS },
  ready: { text: "Rolecall: ready", busy: false, command: SHOW_LOGS },
  working: { text: "Rolecall: working", busy: true, command: CANCEL },
  down: { text: "Rolecall: not running", busy: false, command: START },
} as const;

export function createStatus(): Status {
  const item = languages.createLanguageStatusItem("rolecall.server", { scheme: "file" });
  item.name = "Rolecall";
  return {
    show(state) {
      Object.assign(item, LOOKS[state.kind]);
      item.detail = state.kind === "ready" ? state.detail : "";
      item.severity = state.kind === "down" ? LanguageStatusSeverity.Error : LanguageStatusSeverity.Information;
    },
    dispose: () => item.dispose(),
  };
}
