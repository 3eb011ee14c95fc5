/** Setting up and beginning: the status, the model, the team's questions, briefs. */

import { commands, EventEmitter } from "vscode";
import type { Disposable, Event, ExtensionContext, LogOutputChannel } from "vscode";

import type { Server } from "../server.ts";
import type { Status } from "../status.ts";
import { createBriefs } from "./briefs.ts";
import { chooseModel } from "./chooseModel.ts";
import { createKeys } from "./keys.ts";
import { mayBegin, offerToResume, showMenu } from "./menu.ts";
import { createQuestions } from "./questions.ts";
import { createState } from "./state.ts";
import { createWalkthrough, stepOf } from "./walkthrough.ts";

export interface Setup {
  /** Whether a command may begin; where it may not, the developer was told why. */
  mayBegin(command: string): Promise<boolean>;
  /** Something goes on, or a question waits or waits no more. */
  readonly onDidMove: Event<void>;
  /** The questions that wait. */
  questions(): readonly string[];
  readonly disposables: readonly Disposable[];
}

export function createSetup(context: ExtensionContext, server: Server, status: Status, log: LogOutputChannel): Setup {
  const walkthrough = createWalkthrough(context);
  const state = createState(server, log, walkthrough.done);
  const questions = createQuestions(server);
  const keys = createKeys(server, context.secrets, log);
  const moved = new EventEmitter<void>();
  const offered = new Set<string>();

  function tell(): void {
    moved.fire();
    const { activity, model } = state;
    status.tell({ activity, model, questions: questions.waiting });
    for (const { runId, state: how, brief } of activity?.stopped ?? []) {
      if (!offered.has(runId) && activity?.runs.length === 0) {
        offered.add(runId);
        void offerToResume(runId, how, brief);
      }
    }
  }

  async function begins(command: string): Promise<boolean> {
    const may = await mayBegin(command, state);
    const step = stepOf(command);
    if (may && step !== undefined) {
      walkthrough.done(step);
    }
    return may;
  }

  return {
    mayBegin: begins,
    onDidMove: moved.event,
    questions: () => questions.asked(),
    disposables: [
      moved,
      walkthrough,
      state,
      questions,
      keys,
      state.onDidChange(tell),
      questions.onDidChange(tell),
      ...createBriefs(server, () => mayBegin("rolecall.brief.write", state)),
      commands.registerCommand("rolecall.model.choose", () => chooseModel(server, state, keys, log)),
      commands.registerCommand("rolecall.menu.show", () => showMenu(state)),
    ],
  };
}
