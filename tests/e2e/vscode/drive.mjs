// Plays the smoke test's developer in a VS Code workbench: `node drive.mjs SCENARIO`, a JSON object.
//
// Here it is seen to what the developer sees; what is on disk in the end is the business of the test that starts this.
// The last line it prints is a JSON object: what the file held after the hunk was accepted, before it was saved.

import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { join } from "node:path";

const scenario = JSON.parse(process.argv[2]);
const { chromium } = createRequire(join(scenario.playwright, "_"))("playwright-core");

const browser = await chromium.launch({
  executablePath: scenario.chromium,
  headless: true,
  args: [
    ...(process.getuid?.() === 0 ? ["--no-sandbox"] : []),
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
  ],
});
const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
page.setDefaultTimeout(scenario.timeoutMs);

const problems = page.locator(".markers-panel .monaco-list-row");
const actions = page.locator(".action-widget .monaco-list-row.action");
const editor = page.locator(".editor-instance .monaco-editor .view-lines");

let screenshots = 0;
async function photograph(name) {
  screenshots += 1;
  const file = `${String(screenshots).padStart(2, "0")}-${name}.png`;
  await page.screenshot({ path: join(scenario.screenshots, file) });
}

async function step(name, perform) {
  try {
    await perform();
    await photograph(name);
  } catch (error) {
    await photograph(`failed-${name}`);
    throw error;
  }
}

async function runCommand(title) {
  await page.keyboard.press("F1");
  const input = page.locator(".quick-input-widget input.input");
  await input.fill(`>${title}`);
  await page.locator(".quick-input-widget .monaco-list-row", { hasText: title }).first().waitFor();
  await page.keyboard.press("Enter");
  await input.waitFor({ state: "hidden" });
}

async function openFromExplorer(...names) {
  for (const name of names.slice(0, -1)) {
    await page.getByRole("treeitem", { name, exact: true }).click();
  }
  await page.getByRole("treeitem", { name: names.at(-1), exact: true }).dblclick();
  await page.locator(".tab.active", { hasText: names.at(-1) }).waitFor();
  await editor.first().click();
}

let unsaved;
try {
  await step("workbench", async () => {
    await page.goto(scenario.url);
    await page.locator(".monaco-workbench .part.statusbar").waitFor();
    await page.getByRole("treeitem").first().waitFor();
  });
  await step("source-file", () => openFromExplorer(...scenario.open));
  await step("command-started", () => runCommand("Rolecall: Generate Tests"));
  await step("hunks-under-problems", async () => {
    await runCommand("Problems: Focus on Problems View");
    for (const line of scenario.proposedLines) {
      await problems.filter({ hasText: line }).first().waitFor();
    }
  });
  await step("hunk-in-its-file", async () => {
    await problems.filter({ hasText: scenario.acceptedLine }).first().dblclick();
    await page.locator(".tab.active", { hasText: scenario.proposedIn }).waitFor();
    await page.locator(".squiggly-info").first().waitFor();
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
  unsaved = readFileSync(scenario.file, "utf8");
  await step("saved", async () => {
    await page.keyboard.press("Control+s");
    await page.locator(".tab.active:not(.dirty)").waitFor();
  });
} finally {
  await browser.close();
}
console.log(JSON.stringify({ unsaved }));
process.exit(0);
