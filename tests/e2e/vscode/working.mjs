// Plays a developer who goes on working while a run does: `node working.mjs SCENARIO`, a JSON object.

import { writeFileSync } from "node:fs";

import { editor, openFromExplorer, page, play, runCommand, scenario, step, untilProposed } from "./workbench.mjs";

const toast = page.locator(".notification-toast");
const status = page.locator('.statusbar-item[id$="rolecall.status"]');
const input = page.locator(".quick-input-widget input.input");
const rows = page.locator(".quick-input-widget .monaco-list-row");
const tab = (title) => page.locator(".tab", { hasText: title }).first();

const run = (text) => page.locator(".pane-body .monaco-list-row", { hasText: text }).first();

/** Clicks the button *name* that a row of the view shows while one points at it. */
async function press(text, name) {
  const button = run(text).getByRole("button", { name }).first();
  for (let tries = 0; tries < 100 && !(await button.isVisible()); tries += 1) {
    await run(text).hover(); // The row may have moved: the view is being laid out.
    await page.waitForTimeout(100);
  }
  await button.click();
}

/** Lets the model answer. */
const answerNow = (name) => writeFileSync(`${scenario.signs}/${name}`, "");

async function isFocused(locator) {
  return locator.evaluate((element) => element.contains(document.activeElement));
}

await play(async () => {
  await step("file", () => openFromExplorer(...scenario.open));
  await step("a-killed-run-is-found", () => toast.filter({ hasText: `r1 was interrupted: ${scenario.brief}` }).waitFor());
  await step("resumed", async () => {
    await toast.getByRole("button", { name: "Resume" }).click();
    await status.filter({ hasText: "Engineer" }).waitFor();
  });
  await step("paused-from-the-view", async () => {
    await page.getByRole("tab", { name: "Rolecall" }).first().click();
    await press("r1", "Pause Run");
    await toast.filter({ hasText: "r1 will pause once" }).waitFor();
    await run("r1").filter({ hasText: "pausing" }).waitFor();
  });
  await step("cancelled", async () => {
    await press("r1", "Cancel Run");
    await run("r1").filter({ hasText: "cancelled" }).waitFor();
    await toast.filter({ hasText: "r1 is cancelled" }).waitFor();
  });
  await step("taken-up-again", async () => {
    await press("r1", "Resume Run");
    await run("r1").filter({ hasText: "running" }).waitFor();
    await run("Call 2").filter({ hasText: "working" }).waitFor();
  });
  let kept = false;
  await step("the-palette-stays-open", async () => {
    await page.keyboard.press("F1");
    await input.fill(">Format Do");
    answerNow("first");
    await tab("price.py (p1)").waitFor(untilProposed);
    await page.locator(".editor.modified .view-line").first().waitFor();
    await page.keyboard.type("cument");
    kept = (await isFocused(input)) && (await input.inputValue()) === ">Format Document";
  });
  await step("the-palette-closed", async () => {
    await page.keyboard.press("Escape");
    await input.waitFor({ state: "hidden" });
    await runCommand("View: Close All Editors");
    await page.getByRole("tab", { name: "Explorer" }).first().click();
  });
  await step("another-run", async () => {
    await openFromExplorer(scenario.open.at(-1));
    await page.keyboard.press("F1");
    await input.fill(">Rolecall: Implement…");
    await rows.filter({ hasText: "Implement…" }).first().click();
    await page.locator(".quick-input-widget", { hasText: "What shall the Engineer implement?" }).waitFor();
    await input.fill(scenario.other);
    await page.keyboard.press("Enter");
    await status.filter({ hasText: "Engineer" }).waitFor();
  });
  let typed = "";
  await step("typing-goes-on", async () => {
    await editor.first().click();
    await page.keyboard.press("Control+Home");
    await page.keyboard.type("# on");
    answerNow("second");
    await toast.filter({ hasText: "1 hunk in 1 file" }).waitFor(untilProposed);
    await page.keyboard.type("e line");
    await page.locator(".tab.active", { hasText: scenario.open.at(-1) }).filter({ hasNotText: "(p2)" }).waitFor();
    const line = page.locator(".editor-instance .view-line").first();
    await line.filter({ hasText: /one.line/ }).waitFor();
    typed = await line.innerText();
  });
  await step("reviewed-when-it-suits", async () => {
    await toast.getByRole("button", { name: "Review" }).first().click();
    await tab("price.py (p2)").waitFor();
  });
  return { kept, typed: typed.replaceAll("\u00a0", " ") };
});
