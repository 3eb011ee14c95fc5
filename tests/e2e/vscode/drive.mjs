// Plays the smoke test's developer in a VS Code workbench: `node drive.mjs SCENARIO`, a JSON object.
//
// Here it is seen to what the developer sees; what is on disk in the end is the business of the test that starts this.
// The last line it prints is a JSON object: what the file held after the hunk was accepted, before it was saved.

import { readFileSync } from "node:fs";

import { editor, openFromExplorer, page, play, runCommand, scenario, step, untilProposed } from "./workbench.mjs";

const problems = page.locator(".markers-panel .monaco-list-row");
const actions = page.locator(".action-widget .monaco-list-row.action");

await play(async () => {
  await step("source-file", () => openFromExplorer(...scenario.open));
  await step("command-started", () => runCommand("Rolecall: Generate Tests"));
  await step("hunks-under-problems", async () => {
    await runCommand("Problems: Focus on Problems View");
    for (const line of scenario.proposedLines) {
      await problems.filter({ hasText: line }).first().waitFor(untilProposed);
    }
  });
  await step("hunk-in-its-file", async () => {
    await problems.filter({ hasText: scenario.acceptedLine }).first().dblclick();
    await page.locator(".tab.active", { hasText: scenario.proposedIn }).waitFor();
    await page.locator(".squiggly-info").first().waitFor();
  });
  await step("lenses", async () => {
    await page.locator(".codelens-decoration", { hasText: "p1/h1: accept" }).first().waitFor();
  });
  await step("code-actions", async () => {
    await page.keyboard.press("Control+.");
    await actions.filter({ hasText: scenario.action }).first().waitFor();
  });
  await step("hunk-accepted", async () => {
    await actions.filter({ hasText: scenario.action }).first().click();
    await editor.filter({ hasText: scenario.acceptedLine }).first().waitFor();
    await problems.filter({ hasText: scenario.acceptedLine }).first().waitFor({ state: "detached" });
    await page.locator(".tab.active.dirty").waitFor();
  });
  const unsaved = readFileSync(scenario.file, "utf8");
  await step("saved", async () => {
    await page.keyboard.press("Control+s");
    await page.locator(".tab.active:not(.dirty)").waitFor();
  });
  return { unsaved };
});
