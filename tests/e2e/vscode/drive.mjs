// Plays the smoke test's developer in a VS Code workbench: `node drive.mjs SCENARIO`, a JSON object.
//
// Here it is seen to what the developer sees; what is on disk in the end is the business of the test that starts this.
// The last line it prints is a JSON object: what the file held after the hunk was accepted, before it was saved.

import { readFileSync } from "node:fs";

import { editor, openFromExplorer, page, play, runCommand, scenario, step, untilProposed } from "./workbench.mjs";

const lens = (title) => page.locator(".codelens-decoration a", { hasText: title }).first();

await play(async () => {
  await step("source-file", () => openFromExplorer(...scenario.open));
  await step("command-started", () => runCommand("Rolecall: Generate Tests"));
  await step("proposal-opened", async () => {
    await page.locator(".tab.active", { hasText: scenario.proposedIn }).waitFor(untilProposed);
    for (const line of scenario.proposedLines) {
      await page.locator(".editor.modified .view-line", { hasText: line }).first().waitFor();
    }
  });
  await step("hunk-accepted", async () => {
    await lens("Accept h1").click();
    await lens("Accept h1").waitFor({ state: "detached" });
    await lens("Accept h2").waitFor();
    await page.locator(".tab.dirty", { hasText: scenario.proposedIn }).first().waitFor();
  });
  const unsaved = readFileSync(scenario.file, "utf8");
  await step("hunk-in-its-file", async () => {
    await page.locator(".tab.dirty", { hasText: scenario.proposedIn }).first().click();
    await editor.filter({ hasText: scenario.acceptedLine }).first().waitFor();
  });
  await step("saved", async () => {
    await page.keyboard.press("Control+s");
    await page.locator(".tab.active:not(.dirty)").waitFor();
  });
  return { unsaved };
});
