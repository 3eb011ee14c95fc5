/** What the developer reads of runs: short words for their roles, steps and calls. */

import { t } from "@vscode/l10n";

import type { RunCall, RunInShort, RunMessage, RunStep } from "../protocol.ts";

const MOST_LETTERS = 70;

/** What is written beside a run: `paused · r3 · Team · 12,345 tokens · 1:05`. */
export function aboutRun(run: RunInShort, now: number): string {
  const isAtWork = run.state === "running" || run.state === "pausing";
  const time = run.endedAt === null && !isAtWork ? "" : duration((run.endedAt ?? now) - run.startedAt);
  return joined(run.state, run.runId, run.title, tokens(run.tokens), time);
}

/** What is written beside a role: `working · 4,210 tokens · cost 0.02`. */
export function aboutRole(steps: readonly RunStep[]): string {
  const sum = (of: "cost" | "tokens"): number => steps.reduce((total, step) => total + step[of], 0);
  const working = steps.some((step) => step.state === "working") ? t("working") : "";
  const failed = steps.some((step) => step.state === "failed") ? t("failed") : "";
  return joined(working || failed, tokens(sum("tokens")), money(sum("cost")));
}

/** A step by what it is about and what it brought: `S1/T2: edits`. */
export function titleOf(step: RunStep): string {
  const brought = [...new Set(step.messages.map((message) => message.kind))].join(", ");
  const what = brought || (step.state === "working" ? t("at work") : step.state === "done" ? t("nothing new") : t("did not end"));
  return step.subject === "" ? what : `${step.subject}: ${what}`;
}

export function aboutStep(step: RunStep, now: number): string {
  const time = step.startedAt === null ? "" : duration((step.endedAt ?? (step.state === "working" ? now : step.startedAt)) - step.startedAt);
  return joined(step.state, time, tokens(step.tokens), money(step.cost));
}

export function aboutMessage(message: RunMessage): string {
  return joined(message.subject, `v${message.version}`, message.message, message.sender);
}

export function aboutCall(call: RunCall): string {
  return joined(call.state === "done" ? "" : call.state, call.model, tokens(call.tokens), money(call.cost));
}

/** *text* in a line that fits. */
export function shortened(text: string): string {
  return text.length > MOST_LETTERS ? `${text.slice(0, MOST_LETTERS - 1)}…` : text;
}

/** Such as `1:05`. */
export function duration(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
}

function tokens(n: number): string {
  return n === 0 ? "" : t("{0} tokens", n.toLocaleString("en-US"));
}

function money(cost: number): string {
  return cost === 0 ? "" : t("cost {0}", cost.toFixed(4));
}

function joined(...parts: string[]): string {
  return parts.filter((part) => part !== "").join(" · ");
}
