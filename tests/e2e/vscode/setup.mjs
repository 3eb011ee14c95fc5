// Plays a developer who begins without a model, chooses one, gives the team a brief and answers it late:
// `node setup.mjs SCENARIO`, a JSON object. What is on disk in the end is the business of the test that starts this.

import { existsSync } from "node:fs";

import { openFromExplorer, page, play, runCommand, scenario, step, untilProposed } from "./workbench.mjs";

const toast = page.locator(".notification-toast");
const status = page.locator('.statusbar-item[id="rolecall.rolecall.rolecall.status"], .statusbar-item[id$="rolecall.status"]');
const box = page.locator(".quick-input-widget");
const input = box.locator("input.input");
const rows = box.locator(".monaco-list-row");

/** The mark of a step of the walkthrough that is done. */
const ticked = (title) => page.locator(".getting-started-step", { hasText: title }).locator(".codicon-getting-started-step-checked:visible").first();

async function type(text) {
  await input.fill(text);
  await page.keyboard.press("Enter");
}

async function says(text, patience) {
  await status.filter({ hasText: text }).first().waitFor(patience);
}

await play(async () => {
  await step("no-model", async () => {
    await openFromExplorer(...scenario.open);
    await says("no model");
  });
  await step("no-model-is-said-before-a-brief-is-typed", async () => {
    await runCommand("Rolecall: Implement…");
    await toast.filter({ hasText: "needs a language model" }).waitFor();
    await input.waitFor({ state: "hidden" });
  });
  await step("models", async () => {
    await toast.getByRole("button", { name: "Choose Model" }).click();
    await rows.filter({ hasText: "An address" }).waitFor();
  });
  await step("address", async () => {
    await rows.filter({ hasText: "An address" }).click();
    await box.filter({ hasText: "The address of the endpoint" }).waitFor();
    await type(scenario.address);
  });
  await step("key", async () => {
    await box.filter({ hasText: "The key for" }).waitFor();
    await type(scenario.key);
  });
  await step("model-chosen", async () => {
    await rows.filter({ hasText: scenario.model }).click();
    await toast.filter({ hasText: "It can" }).first().waitFor();
    await says("ready");
    await runCommand("Notifications: Clear All Notifications");
  });
  await step("brief", async () => {
    await runCommand("Rolecall: Write a Brief…");
    await page.locator(".tab.active", { hasText: "Untitled" }).waitFor();
    await page.keyboard.insertText(scenario.brief);
  });
  await step("plan", async () => {
    await page.locator('.editor-actions a[aria-label^="Run Brief"]').click();
    await toast.filter({ hasText: "whole team" }).waitFor();
  });
  await step("question-waits", async () => {
    await toast.getByRole("button", { name: "The whole team" }).click();
    await says("a question waits", untilProposed);
  });
  await step("question", async () => {
    await toast.filter({ hasText: "Rolecall asks" }).getByText("Answer", { exact: true }).waitFor();
    await status.click();
    await box.filter({ hasText: scenario.question }).waitFor();
    await rows.filter({ hasText: "recommended" }).waitFor();
  });
  await step("put-aside", async () => {
    await page.keyboard.press("Escape");
    await box.waitFor({ state: "hidden" });
    await says("a question waits");
  });
  await step("own-words", async () => {
    await status.click();
    await box.filter({ hasText: scenario.question }).waitFor();
    await input.pressSequentially(scenario.answer);
    await rows.filter({ hasText: "in your own words" }).click();
    await box.waitFor({ state: "hidden" });
    await toast.filter({ hasText: "Rolecall asks" }).waitFor({ state: "detached" });
  });
  await step("hunks-wait", () => says("wait", untilProposed));
  await step("accepted", async () => {
    await toast.getByRole("button", { name: "Review" }).first().click();
    await page.locator('.editor-actions a[aria-label^="Accept Proposal"]').click();
    await says("ready", untilProposed);
  });
  const written = scenario.created.filter((file) => existsSync(file));
  await step("walkthrough", async () => {
    await page.keyboard.press("F1");
    await input.fill(">Welcome: Open Walkthrough");
    await rows.filter({ hasText: "Open Walkthrough" }).first().click();
    await rows.filter({ hasText: "Begin with Rolecall" }).first().click();
    await ticked("Choose a model").waitFor();
    for (const title of ["Open a Python file", "Review the first proposal", "Write the first brief"]) {
      await ticked(title).waitFor();
    }
    await page.locator(".getting-started-step").filter({ hasText: "without a model" }).first().waitFor();
  });
  await step("dark", async () => {
    await runCommand("Preferences: Toggle between Light/Dark Themes");
    await page.locator(".monaco-workbench.vs-dark").waitFor();
  });
  return { written: written.join("\n") };
});
