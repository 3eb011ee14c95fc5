/**
 * The walkthrough's steps, which tick themselves.
 *
 * VS Code ticks a step when its context becomes true, and never one whose context was true as it first read the
 * walkthrough, which it does when one opens it. So what was done is kept, and is true only while a page like that is in
 * front, from a moment after it came there.
 */

import { commands, window } from "vscode";
import type { Disposable, ExtensionContext, Tab } from "vscode";

export type Step = "open" | "tests" | "review" | "model" | "brief";

export interface Walkthrough extends Disposable {
  /** Notes that somebody has done what a step is about. */
  done(step: Step): void;
}

const DONE = "rolecall.walkthrough.done";
const DRAWN_MS = 1_500;

export function createWalkthrough({ globalState }: ExtensionContext): Walkthrough {
  const done = new Set<Step>(globalState.get<Step[]>(DONE, []));
  let told: readonly Step[] = [];
  let waiting: ReturnType<typeof setTimeout> | undefined;

  function tell(steps: readonly Step[], value: boolean): void {
    told = value ? steps : [];
    steps.forEach((step) => void commands.executeCommand("setContext", `rolecall.walkthrough.${step}`, value));
  }

  function look(): void {
    clearTimeout(waiting);
    if (isPage(window.tabGroups.activeTabGroup.activeTab)) {
      waiting = setTimeout(() => tell([...done], true), DRAWN_MS);
    } else {
      tell(told, false);
    }
  }

  const listening = [window.tabGroups.onDidChangeTabs(look), window.tabGroups.onDidChangeTabGroups(look)];
  look();
  return {
    done(step) {
      if (!done.has(step)) {
        done.add(step);
        void globalState.update(DONE, [...done]);
        look();
      }
    },
    dispose() {
      clearTimeout(waiting);
      listening.forEach((one) => void one.dispose());
    },
  };
}

/** Return whether *tab* is a page of VS Code's own, such as the walkthroughs: extensions are not told which. */
function isPage(tab: Tab | undefined): boolean {
  // A diff of several files has no input either, as far as extensions are told.
  const isProposal = /^p\d+: /.test(tab?.label ?? "");
  return tab !== undefined && tab.input === undefined && !isProposal;
}

const STEP_OF: Readonly<Record<string, Step>> = {
  "rolecall.tests.generate": "tests",
  "rolecall.tests.generateFolder": "tests",
  "rolecall.brief.implement": "brief",
  "rolecall.run.start": "brief",
};

/** Return the step that a command is about. */
export function stepOf(command: string): Step | undefined {
  return STEP_OF[command];
}
