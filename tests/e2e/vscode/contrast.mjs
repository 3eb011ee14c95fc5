// Plays a developer with two folders in one window, high contrast, and no mouse: `node contrast.mjs SCENARIO`, a JSON object.
//
// Nothing here clicks or points. The last line it prints is a JSON object: what a screen reader would read of each view.

import { openInColours, page, play, runCommand, scenario, step, until } from "./workbench.mjs";

const CONTRASTS = [
  ["Default High Contrast", "hc-black", "dark"],
  ["Default High Contrast Light", "hc-light", "light"],
];
const row = (text) => page.locator(".pane-body .monaco-list-row").filter({ hasText: text }).first();
const lens = (title) => page.locator(".codelens-decoration a", { hasText: title }).first();
const tests = page.locator(".test-explorer-tree .monaco-list-row");
const status = page.locator('.statusbar-item[id$="rolecall.status"]');
const tab = (title) => page.locator(".tab.active", { hasText: title });
const press = (keys) => page.keyboard.press(keys);

/** Presses *keys* until the row that has the focus says *text*. */
async function walkTo(text, keys) {
  const here = page.locator(".monaco-list.focused .monaco-list-row.focused, .monaco-list:focus-within .monaco-list-row.focused", { hasText: text });
  await until(async () => {
    if (!(await here.first().isVisible())) {
      await press(keys);
      await here.first().waitFor({ timeout: 500 });
    }
  });
}

async function lookAtReview(name) {
  await step(`${name}-review`, async () => {
    await runCommand("Focus on Review View");
    await row(scenario.first.title).waitFor();
    await row(scenario.second.title).waitFor();
    await row("p1 · first").waitFor();
    await row("p2 · second").waitFor();
  });
  await step(`${name}-by-task`, async () => {
    await runCommand("Rolecall: Group by Task");
    await row("T1: tax in total").waitFor();
  });
  await step(`${name}-by-file`, async () => {
    await runCommand("Rolecall: Group by File");
    await row("T1: tax in total").waitFor({ state: "detached" });
  });
  await step(`${name}-hunk`, async () => {
    await runCommand("View: Close All Editors"); // else the next hunk is the one after that of the window before
    await press("Control+F8");
    await lens("Accept h1").waitFor();
  });
  await step(`${name}-all-of-it`, async () => {
    await runCommand("Rolecall: Review Proposals");
    await tab("files)").waitFor();
    await lens("Accept h1").waitFor();
  });
}

async function lookAtRuns(name) {
  await step(`${name}-runs`, async () => {
    await runCommand("Focus on Runs View");
    await walkTo(scenario.first.about, "ArrowDown");
    await press("ArrowRight");
    await row("Architect").waitFor();
  });
  await step(`${name}-steps`, async () => {
    await walkTo("Architect", "ArrowDown");
    await press("ArrowRight");
    await row("design").waitFor();
  });
  await step(`${name}-document`, async () => {
    await walkTo("m5", "ArrowDown"); // the message that is the design
    await press("Enter");
    await tab("Preview").waitFor();
  });
}

async function lookAtTests(name) {
  await step(`${name}-testing`, async () => {
    await runCommand("Testing: Focus on Test Explorer View");
    await tests.filter({ hasText: scenario.second.title }).first().waitFor();
  });
  await step(`${name}-tests`, async () => {
    await until(async () => {
      await press("Tab"); // from the box of the filter
      await page.locator(".test-explorer-tree .monaco-list:focus").waitFor({ timeout: 500 });
    });
    await press("Home");
    await walkTo(scenario.second.title, "ArrowDown");
    await press("ArrowRight");
    await walkTo("test_price.py", "ArrowDown");
    await press("ArrowRight");
    await tests.filter({ hasText: "test_total" }).first().waitFor();
  });
}

/** Accepts the first hunk of each folder's proposal, and saves. */
async function decideInBoth() {
  for (const { proposal, hunk, left } of [scenario.first, scenario.second]) {
    await step(`accepted-${proposal}`, async () => {
      await runCommand("Focus on Review View");
      await press("Home");
      await walkTo(`${proposal} ·`, "ArrowDown");
      await walkTo(hunk, "ArrowDown");
      await press("Enter");
      await tab(`price.py (${proposal})`).waitFor();
      await lens("Accept h1").waitFor();
      await press("Control+F9");
      await status.filter({ hasText: left }).waitFor();
    });
  }
  await step("saved", async () => {
    // VS Code opens a tab for a changed file after a while, and saves only what has one.
    await page.locator(".tab.dirty").nth(1).waitFor();
    await runCommand("File: Save All Files");
    await page.locator(".tab.dirty").first().waitFor({ state: "detached" });
  });
}

await play(async () => {
  const report = {};
  for (const [theme, kind, name] of CONTRASTS) {
    await step(name, async () => {
      await openInColours(scenario.url, theme, kind);
      await runCommand("Focus on Review View");
      await status.filter({ hasText: "wait" }).waitFor();
    });
    await lookAtReview(name);
    await lookAtRuns(name);
    report.runs = await page.locator(".part.sidebar").ariaSnapshot();
    await lookAtTests(name);
    report.tests = await page.locator(".part.sidebar").ariaSnapshot();
  }
  await decideInBoth();
  return report;
});
