// Plays a developer whose only language models are those of the editor: `node lent.mjs SCENARIO`, a JSON object.
//
// The scenario's steps are taken in order, each in the words of `STEPS`.

import { writeFileSync } from "node:fs";

import { openFromExplorer, page, play, runCommand, scenario, step, untilProposed } from "./workbench.mjs";

const dialog = page.locator(".monaco-dialog-box");
const toast = page.locator(".notification-toast");
const proposed = page.locator(".editor.modified .view-line");
const statusBar = page.locator(".part.statusbar");

const STEPS = {
  /** Generate tests for the open file. */
  generate: () => runCommand("Rolecall: Generate Tests"),
  /** Choose a model by its name, in the list of all that there are. */
  choose: async ({ model }) => {
    await runCommand("Rolecall: Choose Model…");
    await page.locator(".quick-input-widget .monaco-list-row", { hasText: model }).first().click();
  },
  /** Read the editor's question for consent, which says whose models and what for. */
  consent: async ({ says }) => {
    for (const text of says) {
      await dialog.filter({ hasText: text }).waitFor();
    }
  },
  answer: async ({ button }) => {
    await dialog.getByRole("button", { name: button, exact: true }).click();
    await dialog.waitFor({ state: "detached" });
  },
  /** Read a message, and put it away. */
  message: async ({ says }) => {
    await toast.filter({ hasText: says }).first().waitFor();
    await runCommand("Notifications: Clear All Notifications");
    await toast.filter({ hasText: says }).first().waitFor({ state: "detached" });
  },
  /** See in the status bar how far a reply has come, and tell the test so. */
  writing: async ({ sign }) => {
    await statusBar.filter({ hasText: "the model is writing" }).waitFor();
    writeFileSync(sign, "");
  },
  cancel: async () => {
    await runCommand("Rolecall: Cancel Run");
    await statusBar.filter({ hasNotText: "the model is writing" }).waitFor();
  },
  /** See the hunks of the proposal, which opens. */
  proposal: async ({ lines }) => {
    for (const line of lines) {
      await proposed.filter({ hasText: line }).first().waitFor(untilProposed);
    }
  },
};

await play(async () => {
  await step("source-file", () => openFromExplorer(...scenario.open));
  for (const { does, ...details } of scenario.steps) {
    await step(does, () => STEPS[does](details));
  }
});
