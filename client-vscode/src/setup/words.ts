/** What the status bar says, and what a click on it does. */

import { t } from "@vscode/l10n";

import type { Activity, StatusResult } from "../protocol.ts";

export interface Facts {
  readonly server: "starting" | "ready" | "down";
  readonly activity: Activity | undefined;
  readonly model: StatusResult["model"] | undefined;
  readonly questions: number;
  /** Seconds since 1970. */
  readonly now: number;
}

export interface Said {
  readonly text: string;
  readonly tooltip: string;
  readonly command: string;
  readonly tone: "plain" | "warning" | "error";
}

const ROLES: Readonly<Record<string, string>> = { qa_engineer: t("QA Engineer"), team: t("Team") };

/** The one thing to say: what keeps everything first, then what the developer is waited for, then what goes on. */
export function say(facts: Facts): Said {
  const { activity, model } = facts;
  if (facts.server === "down") {
    return said(`$(error) ${t("Rolecall: not running")}`, t("The server does not run. Start it again."), "rolecall.server.restart", "error");
  }
  if (facts.server === "starting" || activity === undefined) {
    return said(`$(loading~spin) ${t("Rolecall: starting")}`, t("The server starts. Show the log."), "rolecall.logs.show");
  }
  if (facts.questions > 0) {
    const text = facts.questions === 1 ? t("a question waits") : t("{0} questions wait", facts.questions);
    return said(`$(question) ${t("Rolecall: {0}", text)}`, t("The team asks you something. Answer it."), "rolecall.question.answer", "warning");
  }
  const run = activity.runs.at(-1);
  if (run !== undefined) {
    return working(run, activity.runs.length, facts.now);
  }
  if (activity.index !== null) {
    const { read, files } = activity.index;
    const share = files > 0 ? Math.floor((100 * read) / files) : 0;
    return said(`$(loading~spin) ${t("Rolecall: indexing {0} %", share)}`, t("{0} of {1} files are read.", read, files), "rolecall.menu.show");
  }
  if (activity.waiting.hunks > 0) {
    const { hunks, proposals } = activity.waiting;
    const text = hunks === 1 ? t("1 hunk waits") : t("{0} hunks wait", hunks);
    const whose = proposals === 1 ? t("one proposal") : t("{0} proposals", proposals);
    return said(`$(git-compare) ${t("Rolecall: {0}", text)}`, t("Of {0}. Review them.", whose), "rolecall.review.show");
  }
  return resting(model);
}

function working(run: Activity["runs"][number], runs: number, now: number): Said {
  const parts = [run.step, duration(now - run.startedAt), run.tokens > 0 ? t("{0} tokens", count(run.tokens)) : ""];
  const role = ROLES[run.role] ?? `${run.role.charAt(0).toUpperCase()}${run.role.slice(1)}`;
  const more = runs > 1 ? ` (+${runs - 1})` : "";
  const text = `$(sync~spin) ${role}${more}: ${parts.filter((part) => part !== "").join(" · ")}`;
  return said(shortened(text), t("{0} is at work. Pause it, cancel it or look at it.", run.runId), "rolecall.menu.show");
}

function resting(model: StatusResult["model"] | undefined): Said {
  if (model?.state === "broken") {
    return said(`$(error) ${t("Rolecall: model error")}`, `${model.what} ${t("Choose a model.")}`, "rolecall.model.choose", "error");
  }
  if (model !== undefined && model.label === undefined) {
    return said(`$(circle-slash) ${t("Rolecall: no model")}`, `${model.what} ${t("Choose a model.")}`, "rolecall.model.choose");
  }
  return said("$(checklist) Rolecall: ready", model?.what ?? "", "rolecall.menu.show");
}

function said(text: string, tooltip: string, command: string, tone: Said["tone"] = "plain"): Said {
  return { text, tooltip, command, tone };
}

/** Such as `1:05`. */
function duration(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
}

function count(number: number): string {
  return number.toLocaleString("en-US");
}

function shortened(text: string): string {
  return text.length > 90 ? `${text.slice(0, 89)}…` : text;
}
