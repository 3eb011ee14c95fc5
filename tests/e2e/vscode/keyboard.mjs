// Plays a developer who has no mouse: `node keyboard.mjs SCENARIO`, a JSON object. Nothing here clicks or points.
//
// The last line it prints is a JSON object: what a screen reader would read of the view and of the diff.

import { page, play, runCommand, step } from "./workbench.mjs";

const input = page.locator(".quick-input-widget input.input");
const rows = page.locator(".pane-body .monaco-list-row");
const row = (text) => rows.filter({ hasText: text }).first();
const lens = (title) => page.locator(".codelens-decoration a", { hasText: title }).first();
const status = page.locator('.statusbar-item[id$="rolecall.status"]');
const waits = (text) => status.filter({ hasText: text }).first().waitFor();
const press = (keys) => page.keyboard.press(keys);

/** Runs a command that asks for a text: its box takes the place of the palette. */
async function callAndType(title, asks, text) {
  const box = page.locator(".quick-input-widget", { hasText: asks });
  await press("F1");
  await input.fill(`>${title}`);
  await page.locator(".quick-input-widget .monaco-list-row", { hasText: title }).first().waitFor();
  await press("Enter");
  await box.waitFor();
  await page.keyboard.type(text);
}

await play(async () => {
  const report = {};
  await step("view", async () => {
    await runCommand("Focus on Review View");
    await row("adds shout").waitFor();
    await waits("8 hunks wait");
    report.view = await page.locator(".part.sidebar").ariaSnapshot();
  });
  await step("first-hunk", async () => {
    await press("Control+F8");
    await page.locator(".tab.active", { hasText: "labels.py (p2)" }).waitFor();
    await page.locator(".statusbar-item", { hasText: "Ln 6," }).waitFor();
    await lens("Accept h1").waitFor();
    const lenses = page.locator(".codelens-decoration a");
    report.lenses = await lenses.evaluateAll((all) => all.map((one) => `${one.getAttribute("role")} ${one.textContent} | ${one.title}`));
  });
  await step("accepted", async () => {
    await press("Control+F9");
    await waits("7 hunks wait");
  });
  await step("next-hunk", async () => {
    await press("Control+F8");
    await page.locator(".tab.active", { hasText: "test_labels.py (p2)" }).waitFor();
    await lens("Accept h3").waitFor();
  });
  await step("and-next", async () => {
    await press("Control+F8");
    await page.locator(".statusbar-item", { hasText: "Ln 2," }).waitFor();
  });
  await step("why-it-is-rejected", async () => {
    await callAndType("Rolecall: Reject This Hunk Because…", "Why is h3 of p2 rejected?", "Nobody shouts.");
  });
  await step("rejected", async () => {
    await press("Enter");
    await waits("6 hunks wait");
    await row("adds test_shout").filter({ hasText: "rejected" }).waitFor();
  });
  await step("undone", async () => {
    await press("Control+Alt+r");
    await press("u");
    await waits("7 hunks wait");
  });
  // Space alone folds a row, as in every tree of VS Code; its box is the next stop.
  await step("ticked-by-space", async () => {
    await runCommand("Focus on Review View");
    await press("Home");
    await press("Tab");
    await press("Space");
    await page.locator(".pane-header .description", { hasText: "ticked" }).waitFor();
    report.ticked = await page.locator(".pane-header .description").first().textContent();
  });
  await step("rejected-what-is-ticked", async () => {
    await press("Control+Alt+r");
    await press("x");
    await page.locator(".pane-header .description", { hasText: "ticked" }).waitFor({ state: "detached" });
    await waits("5 hunks wait");
    report.status = await status.first().getAttribute("aria-label");
  });
  return report;
});
