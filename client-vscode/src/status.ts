/** The status bar item: always one thing that matters now, and a click that does what it needs. */

import { StatusBarAlignment, ThemeColor, window } from "vscode";
import type { Disposable } from "vscode";

import { say } from "./setup/words.ts";
import type { Facts } from "./setup/words.ts";

export type ServerState =
  | { readonly kind: "starting" | "working" | "down" }
  | { readonly kind: "ready"; readonly detail: string };

export interface Status extends Disposable {
  show(state: ServerState): void;
  /** Tells what else is known, by the name of the fact. */
  tell(facts: Partial<Omit<Facts, "now" | "server">>): void;
}

const TICK_MS = 1_000;

export function createStatus(): Status {
  const item = window.createStatusBarItem("rolecall.status", StatusBarAlignment.Left, 0);
  item.name = "Rolecall";
  let facts: Omit<Facts, "now"> = { server: "starting", activity: undefined, model: undefined, questions: 0 };
  let detail = "";
  let ticking: ReturnType<typeof setInterval> | undefined;

  function draw(): void {
    const { text, tooltip, command, tone } = say({ ...facts, now: Date.now() / 1000 });
    item.text = text;
    item.tooltip = [tooltip, detail].filter((part) => part !== "").join("\n");
    item.command = command;
    // A label is plain text: a screen reader would read `$(…)` out.
    item.accessibilityInformation = { label: `${text.replace(/\$\([^)]*\) /, "")}. ${tooltip}`, role: "button" };
    item.backgroundColor = tone === "plain" ? undefined : new ThemeColor(`statusBarItem.${tone}Background`);
    const isWorking = (facts.activity?.runs.length ?? 0) > 0;
    if (isWorking && ticking === undefined) {
      ticking = setInterval(draw, TICK_MS);
    } else if (!isWorking) {
      clearInterval(ticking);
      ticking = undefined;
    }
  }

  draw();
  item.show();
  return {
    show(state) {
      const server = state.kind === "working" ? "ready" : state.kind;
      detail = state.kind === "ready" ? state.detail : "";
      facts = server === "ready" ? { ...facts, server } : { ...facts, server, activity: undefined };
      draw();
    },
    tell(more) {
      facts = { ...facts, ...more };
      draw();
    },
    dispose() {
      clearInterval(ticking);
      item.dispose();
    },
  };
}
