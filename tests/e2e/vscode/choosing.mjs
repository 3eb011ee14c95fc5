// Plays a developer who ticks hunks of two proposals and decides about them together: `node choosing.mjs SCENARIO`, a JSON object.
//
// The last line it prints is a JSON object: what was asked.

import { openInColours, otherColours, page, play, runCommand, scenario, step } from "./workbench.mjs";

const rows = page.locator(".pane-body .monaco-list-row");
const row = (text) => rows.filter({ hasText: text }).first();
const box = (text) => row(text).getByRole("checkbox").first();
const dialog = page.locator(".monaco-dialog-box");
const action = (name) => page.locator(`.pane-header a[aria-label^="${name}"]`).first();
const lens = (title) => page.locator(".codelens-decoration a", { hasText: title }).first();

async function openView() {
  await page.getByRole("tab", { name: "Rolecall" }).first().click();
  await row(" hunks").waitFor();
}

async function tickAndDecide(report) {
  await step("view", openView);
  await step("ticked", async () => {
    await box("prices.py").click();
    await box("adds shout").click();
    await page.locator(".pane-header .description", { hasText: "3 ticked" }).waitFor();
  });
  await step("asked-once", async () => {
    await row("Shout").hover();
    await action("Accept Ticked Hunks").click();
    await dialog.waitFor();
    report.asked = await dialog.textContent();
  });
  await step("accepted", async () => {
    await dialog.getByRole("button", { name: /^Accept \d+ hunks/ }).click();
    await row("adds shout").filter({ hasText: "accepted" }).waitFor();
    await row("renames it").filter({ hasText: "accepted" }).waitFor();
  });
  await step("undone", async () => {
    await page.keyboard.press("Control+Alt+r");
    await page.keyboard.press("u");
    await row("adds shout").filter({ hasNotText: "accepted" }).waitFor();
    await row("renames it").filter({ hasNotText: "accepted" }).waitFor();
  });
}

async function openWhole() {
  await row("Keep the rates apart").hover();
  await row("Keep the rates apart").getByRole("button", { name: "Review Proposals" }).first().click();
  await page.locator(".tab.active", { hasText: "p1: Keep the rates apart" }).waitFor();
  await lens("Accept h2").waitFor();
}

async function lookAtFilesThatGo() {
  await step("by-task", async () => {
    await row("Shout").hover();
    await action("Group by Task").click();
    await row("Keep the prices in a module").waitFor();
  });
  await step("task-ticked", async () => {
    await box("Keep the prices in a module").click();
    await page.locator(".pane-header .description", { hasText: "ticked" }).waitFor();
  });
  await step("unticked", async () => {
    await runCommand("Rolecall: Untick All Hunks");
    await page.locator(".pane-header .description", { hasText: "ticked" }).waitFor({ state: "detached" });
    await action("Group by File").click();
    await row("old.py").waitFor();
  });
  await step("renamed", async () => {
    await row("prices.py").click();
    await page.locator(".tab", { hasText: "prices.py (p1)" }).waitFor();
    await lens("Accept h2").waitFor();
  });
  await step("deleted", async () => {
    await row("old.py").click();
    await page.locator(".tab", { hasText: "old.py (p1)" }).waitFor();
    await lens("Accept h4").waitFor();
  });
  await step("new", async () => {
    await row("tax.py").click();
    await page.locator(".tab", { hasText: "tax.py (p1)" }).waitFor();
    await lens("Accept h5").waitFor();
  });
  await step("all-of-it-from-a-file", async () => {
    await runCommand("Rolecall: Review Proposals");
    await page.locator(".tab.active", { hasText: "p1: Keep the rates apart" }).waitFor();
  });
  await step("the-next-proposal", async () => {
    await runCommand("Rolecall: Review Proposals");
    await page.locator(".tab.active", { hasText: "p2: Shout the labels" }).waitFor();
  });
  await step("all-of-it", openWhole);
  await step("all-of-it-scrolled", async () => {
    await page.locator(".multiDiffEditor").first().hover();
    await page.mouse.wheel(0, 900);
    await page.locator(".multiDiffEditor", { hasText: "old.py" }).waitFor();
  });
}

async function lookInOtherColours() {
  for (const [theme, kind, shot] of otherColours) {
    await step(`${shot}-whole`, async () => {
      await openInColours(scenario.url, theme, kind);
      await openView();
      await box("prices.py").click();
      await openWhole();
    });
    await step(`${shot}-renamed`, async () => {
      await row("renames it").click();
      await page.locator(".tab", { hasText: "prices.py (p1)" }).waitFor();
      await lens("Accept h2").waitFor();
    });
    await step(`${shot}-deleted`, async () => {
      await row("old.py").click();
      await page.locator(".tab", { hasText: "old.py (p1)" }).waitFor();
      await lens("Accept h4").waitFor();
    });
    await step(`${shot}-tests`, async () => {
      await page.getByRole("tab", { name: "Testing" }).first().click();
      await page.locator(".test-explorer-tree .monaco-list-row").first().waitFor();
    });
  }
}

await play(async () => {
  const report = {};
  await tickAndDecide(report);
  await lookAtFilesThatGo();
  await lookInOtherColours();
  return report;
});
