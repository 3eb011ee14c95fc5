/** What the status bar says, and what a click on it does. */

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

const ROLES: Readonly<Record<string, string>> = { qa_engineer: "QA Engineer", team: "Team" };

/** The one thing to say: what keeps everything first, then what the developer is waited for, then what goes on. */
export function say(facts: Facts): Said {
  const { activity, model } = facts;
  if (facts.server === "down") {
    return said("$(error) Rolecall: not running", "The server does not run. Start it again.", "rolecall.server.restart", "error");
  }
  if (facts.server === "starting" || activity === undefined) {
    return said("$(loading~spin) Rolecall: starting", "The server starts. Show the log.", "rolecall.logs.show");
  }
  if (facts.questions > 0) {
    const text = facts.questions === 1 ? "a question waits" : `${facts.questions} questions wait`;
    return said(`$(question) Rolecall: ${text}`, "The team asks you something. Answer it.", "rolecall.question.answer", "warning");
  }
  const run = activity.runs.at(-1);
  if (run !== undefined) {
    return working(run, activity.runs.length, facts.now);
  }
  if (activity.index !== null) {
    const { read, files } = activity.index;
    const share = files > 0 ? Math.floor((100 * read) / files) : 0;
    return said(`$(loading~spin) Rolecall: indexing ${share} %`, `${read} of ${files} files are read.`, "rolecall.menu.show");
  }
  if (activity.waiting.hunks > 0) {
    const { hunks, proposals } = activity.waiting;
    const text = hunks === 1 ? "1 hunk waits" : `${hunks} hunks wait`;
    const whose = proposals === 1 ? "one proposal" : `${proposals} proposals`;
    return said(`$(git-compare) Rolecall: ${text}`, `Of ${whose}. Review them.`, "rolecall.review.show");
  }
  return resting(model);
}

function working(run: Activity["runs"][number], runs: number, now: number): Said {
  const parts = [run.step, duration(now - run.startedAt), run.tokens > 0 ? `${count(run.tokens)} tokens` : ""];
  const role = ROLES[run.role] ?? `${run.role.charAt(0).toUpperCase()}${run.role.slice(1)}`;
  const more = runs > 1 ? ` (+${runs - 1})` : "";
  const text = `$(sync~spin) ${role}${more}: ${parts.filter((part) => part !== "").join(" · ")}`;
  return said(shortened(text), `${run.runId} is at work. Pause it, cancel it or look at it.`, "rolecall.menu.show");
}

function resting(model: StatusResult["model"] | undefined): Said {
  if (model?.state === "broken") {
    return said("$(error) Rolecall: model error", `${model.what} Choose a model.`, "rolecall.model.choose", "error");
  }
  if (model !== undefined && model.label === undefined) {
    return said("$(circle-slash) Rolecall: no model", `${model.what} Choose a model.`, "rolecall.model.choose");
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
