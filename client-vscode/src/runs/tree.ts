/** The view of the team at work: questions that wait, runs, their roles, the steps of each, what these published and asked. */

import { t } from "@vscode/l10n";
import { EventEmitter, ThemeColor, ThemeIcon, TreeItem, TreeItemCollapsibleState, window } from "vscode";
import type { Disposable, TreeDataProvider } from "vscode";

import type { RunCall, RunInShort, RunMessage, RunStep, RunTree } from "../protocol.ts";
import type { Records } from "./records.ts";
import { aboutCall, aboutMessage, aboutRole, aboutRun, aboutStep, shortened, titleOf } from "./words.ts";

export type Row =
  | { readonly kind: "question"; readonly text: string }
  | { readonly kind: "run"; readonly run: RunInShort }
  | { readonly kind: "role"; readonly run: RunInShort; readonly title: string; readonly steps: readonly RunStep[] }
  | { readonly kind: "step"; readonly run: RunInShort; readonly step: RunStep; readonly at: number }
  | { readonly kind: "message"; readonly run: RunInShort; readonly message: RunMessage }
  | { readonly kind: "call"; readonly run: RunInShort; readonly call: RunCall }
  | { readonly kind: "proposal"; readonly run: RunInShort; readonly proposalId: string };

export function createRunsView(records: Records, questions: () => readonly string[]): Disposable[] {
  const changed = new EventEmitter<undefined>();
  const provider: TreeDataProvider<Row> = {
    onDidChangeTreeData: changed.event,
    getTreeItem: itemOf,
    async getChildren(row) {
      if (row === undefined) {
        const asked = questions().map((text): Row => ({ kind: "question", text }));
        return [...asked, ...records.list().map((run): Row => ({ kind: "run", run }))];
      }
      return row.kind === "run" ? inRun(await records.tree(row.run.runId)) : below(row);
    },
  };
  const view = window.createTreeView("rolecall.runs", { treeDataProvider: provider, showCollapseAll: true });
  return [changed, view, records.onDidChange(() => changed.fire(undefined))];
}

function inRun(run: RunTree): Row[] {
  const titles = [...new Set(run.steps.map((step) => step.title))];
  return [
    ...run.messages.map((message): Row => ({ kind: "message", run, message })),
    ...titles.map((title): Row => ({ kind: "role", run, title, steps: run.steps.filter((step) => step.title === title) })),
    ...run.proposals.map((proposalId): Row => ({ kind: "proposal", run, proposalId })),
  ];
}

function below(row: Row): Row[] {
  if (row.kind === "role") {
    return row.steps.map((step): Row => ({ kind: "step", run: row.run, step, at: row.steps.indexOf(step) }));
  }
  if (row.kind === "step") {
    const { run, step } = row;
    return [
      ...step.messages.map((message): Row => ({ kind: "message", run, message })),
      ...step.calls.map((call): Row => ({ kind: "call", run, call })),
    ];
  }
  return [];
}

const ICONS: Readonly<Record<string, ThemeIcon>> = {
  running: new ThemeIcon("sync~spin"),
  working: new ThemeIcon("sync~spin"),
  pausing: new ThemeIcon("debug-pause"),
  paused: new ThemeIcon("debug-pause"),
  waiting: new ThemeIcon("watch"),
  finished: new ThemeIcon("pass"),
  done: new ThemeIcon("pass"),
  failed: new ThemeIcon("error", new ThemeColor("list.errorForeground")),
  cancelled: new ThemeIcon("circle-slash"),
  withdrawn: new ThemeIcon("discard"),
  interrupted: new ThemeIcon("debug-disconnect"),
  unfinished: new ThemeIcon("debug-disconnect"),
};
const icon = (state: string): ThemeIcon => ICONS[state] ?? new ThemeIcon("circle-large-outline");

function itemOf(row: Row): TreeItem {
  switch (row.kind) {
    case "question":
      return questionItem(row.text);
    case "run":
      return runItem(row.run);
    case "role":
      return roleItem(row.run, row.title, row.steps);
    case "step":
      return stepItem(row.run, row.step, row.at);
    case "message":
      return messageItem(row.run, row.message);
    case "call":
      return callItem(row.run, row.call);
    case "proposal":
      return proposalItem(row.proposalId);
  }
}

function questionItem(text: string): TreeItem {
  const item = new TreeItem(text);
  item.description = t("waits for your answer");
  item.iconPath = new ThemeIcon("question", new ThemeColor("list.warningForeground"));
  item.command = { command: "rolecall.question.answer", title: t("Answer") };
  return item;
}

const now = (): number => Date.now() / 1000;
const CAN_GO_ON: readonly string[] = ["paused", "interrupted", "cancelled", "waiting", "failed"];

/** What a screen reader says of a row: what is written there, and not what one reads by pointing at it. */
function spoken(...parts: string[]): { label: string } {
  return { label: parts.filter((part) => part !== "").join(", ") };
}

function runItem(run: RunInShort): TreeItem {
  const isAtWork = run.state === "running" || run.state === "pausing";
  const item = new TreeItem(shortened(run.about), isAtWork ? TreeItemCollapsibleState.Expanded : TreeItemCollapsibleState.Collapsed);
  item.id = run.runId;
  item.description = aboutRun(run, now());
  item.tooltip = [run.about, run.path, isAtWork ? run.step : run.error].filter((part) => part !== "").join("\n\n");
  item.accessibilityInformation = spoken(run.about, item.description);
  item.iconPath = icon(run.state);
  item.contextValue = `run ${isAtWork ? run.state : CAN_GO_ON.includes(run.state) ? "stopped" : "ended"}`;
  return item;
}

function roleItem(run: RunInShort, title: string, steps: readonly RunStep[]): TreeItem {
  const isWorking = steps.some((step) => step.state === "working");
  const item = new TreeItem(title, isWorking ? TreeItemCollapsibleState.Expanded : TreeItemCollapsibleState.Collapsed);
  item.id = `${run.runId}/${title}`;
  item.description = aboutRole(steps);
  item.iconPath = isWorking ? icon("working") : new ThemeIcon("account");
  return item;
}

function stepItem(run: RunInShort, step: RunStep, at: number): TreeItem {
  const item = new TreeItem(titleOf(step), TreeItemCollapsibleState.Expanded);
  item.id = `${run.runId}/${step.title}/${at}`;
  item.description = aboutStep(step, now());
  item.tooltip = step.error === "" ? `${titleOf(step)}: ${item.description}` : step.error;
  item.accessibilityInformation = spoken(titleOf(step), item.description, step.error);
  item.iconPath = icon(step.state);
  return item;
}

function messageItem(run: RunInShort, message: RunMessage): TreeItem {
  const item = new TreeItem(message.kind);
  const isByRole = message.sender !== "developer" && message.sender !== "team";
  item.id = `${run.runId}/${message.message}`;
  item.description = aboutMessage(message);
  item.iconPath = new ThemeIcon(message.documentId === "" ? "mail" : "book");
  item.contextValue = `message${message.documentId === "" ? "" : " document"}${isByRole ? " again" : ""}`;
  if (message.documentId !== "") {
    item.command = { command: "rolecall.runs.read", title: t("Read"), arguments: [{ kind: "message", run, message } satisfies Row] };
  }
  return item;
}

function callItem(run: RunInShort, call: RunCall): TreeItem {
  const item = new TreeItem(t("Call {0}", call.call));
  item.id = `${run.runId}/call ${call.call}`;
  item.description = aboutCall(call);
  item.tooltip = call.error === "" ? t("Show what was sent, and the reply.") : call.error;
  item.accessibilityInformation = spoken(t("Call {0}", call.call), item.description, call.error);
  item.iconPath = call.state === "done" ? new ThemeIcon("comment-discussion") : icon(call.state);
  item.command = { command: "rolecall.runs.sent", title: t("Show What Was Sent"), arguments: [{ kind: "call", run, call } satisfies Row] };
  return item;
}

function proposalItem(proposalId: string): TreeItem {
  const item = new TreeItem(t("Proposal {0}", proposalId));
  item.iconPath = new ThemeIcon("git-pull-request");
  item.command = { command: "rolecall.review.show", title: t("Review"), arguments: [{ proposalId, path: "", hunkIds: [] }] };
  return item;
}
