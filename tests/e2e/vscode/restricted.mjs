// Plays a developer in a window that is not trusted, with two folders of odd names: `node restricted.mjs SCENARIO`.
//
// Code is read, its graph is drawn, a proposal that is there is decided; nothing begins that would run the code.

import { editor, openFromExplorer, page, play, runCommand, scenario, step } from "./workbench.mjs";

const row = (text) => page.locator(".pane-body .monaco-list-row").filter({ hasText: text }).first();
const toast = page.locator(".notification-toast");
const input = page.locator(".quick-input-widget input.input");

async function graphPage() {
  const deadline = Date.now() + scenario.timeoutMs;
  while (Date.now() < deadline) {
    for (const frame of page.frames()) {
      if (await frame.locator("#graph .box.center").count().catch(() => 0)) {
        return frame;
      }
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error("No graph is drawn");
}

await play(async () => {
  await step("restricted", () => page.getByRole("button", { name: "Restricted Mode" }).first().waitFor());
  await step("read", () => openFromExplorer(...scenario.open));
  await step("graph", async () => {
    await page.keyboard.press("Control+g");
    await input.fill(":1:6");
    await page.keyboard.press("Enter");
    await input.waitFor({ state: "hidden" });
    await runCommand("Rolecall: Show Callers and Callees");
    const frame = await graphPage();
    await frame.locator(".box", { hasText: scenario.caller.name }).first().click();
    await page.locator(".tab.active", { hasText: scenario.caller.file }).first().waitFor();
  });
  await step("nothing-begins", async () => {
    await editor.first().click();
    await runCommand("Rolecall: Generate Tests");
    await toast.filter({ hasText: "runs nothing in Restricted Mode" }).waitFor();
    await runCommand("Notifications: Clear All Notifications");
  });
  await step("proposals", async () => {
    await page.getByRole("tab", { name: "Rolecall" }).first().click();
    await row("p1").waitFor();
    await row("p2").waitFor();
  });
  for (const title of scenario.accepted) {
    await step("accepted", async () => {
      await row(title).hover();
      await row(title).getByRole("button", { name: "Accept" }).first().click();
      await row(title).waitFor({ state: "detached" });
    });
  }
  await step("saved", async () => {
    // VS Code opens a tab for a changed file after a while, and saves only what has one.
    await page.locator(".tab.dirty").nth(scenario.accepted.length - 1).waitFor();
    await runCommand("File: Save All Files");
    await page.locator(".tab.dirty").first().waitFor({ state: "detached" });
  });
  return {};
});
