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
  return box.textContent();
}

/** What a locator's accessible names are, as a screen reader would say them. */
const said = (locator) => locator.ariaSnapshot();

await play(async () => {
  const report = {};
  await step("view", async () => {
    await runCommand("Focus on Review View");
    await row("adds shout").waitFor();
    await waits("8 hunks wait");
    report.view = await said(page.locator(".split-view-view", { has: rows }).first());
  });
  await step("opened", async () => {
    await runCommand("Rolecall: Review Proposals");
    await page.locator(".tab.active", { hasText: "p2: Shout the labels" }).waitFor();
    await lens("Accept h1").waitFor();
    const lenses = page.locator(".codelens-decoration a");
    report.lenses = await lenses.evaluateAll((all) => all.map((one) => `${one.getAttribute("role")} ${one.textContent} | ${one.title}`));
  });
  await step("next-hunk", async () => {
    await press("Control+F8");
    await page.locator(".tab.active", { hasText: "(p2)" }).waitFor();
    await lens("Accept h1").waitFor();
  });
  await step("accepted", async () => {
    await press("Control+F9");
    await waits("7 hunks wait");
  });
  await step("another-hunk", async () => {
    await press("Control+F8");
    await page.locator(".tab.active", { hasText: "test_labels.py (p2)" }).waitFor();
    await press("Control+F8");
    await lens("Accept h3").waitFor();
  });
  await step("why-it-is-rejected", async () => {
    report.asked = await callAndType("Rolecall: Reject This Hunk Because…", "Why is", "Nobody shouts.");
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
  await step("ticked-by-space", async () => {
    await runCommand("Focus on Review View");
    await press("Home");
    await press("ArrowDown");
    await press("ArrowDown");
    await press("ArrowDown");
    await press("Space");
    await page.locator(".pane-header .description", { hasText: "ticked" }).waitFor();
    report.ticked = await page.locator(".pane-header .description").first().textContent();
  });
  await step("rejected-what-is-ticked", async () => {
    await press("Control+Alt+r");
    await press("x");
    await page.locator(".pane-header .description", { hasText: "ticked" }).waitFor({ state: "detached" });
    report.status = await status.first().getAttribute("aria-label");
  });
  return report;
});
