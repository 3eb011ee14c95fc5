// A VS Code workbench in a browser, and what a developer does in every scenario. The first argument of the program that
// imports this is the scenario, a JSON object.

import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

export const scenario = JSON.parse(process.argv[2]);
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
export const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
page.setDefaultTimeout(scenario.timeoutMs);

/** For what waits until a proposal is made: its tests are run first, many times. */
export const untilProposed = { timeout: 3 * scenario.timeoutMs };

/** After so long without an effect a developer does the same again. */
export const AGAIN_MS = 10_000;

export const editor = page.locator(".editor-instance .monaco-editor .view-lines");

let screenshots = 0;
export async function photograph(name) {
  screenshots += 1;
  const file = `${String(screenshots).padStart(2, "0")}-${name}.png`;
  await page.screenshot({ path: join(scenario.screenshots, file) });
}

export async function step(name, perform) {
  try {
    await perform();
    await photograph(name);
  } catch (error) {
    await photograph(`failed-${name}`).catch(() => undefined);
    await photographNotices(name).catch(() => undefined);
    throw error;
  }
}

/** What was said and has gone from sight since. */
async function photographNotices(name) {
  await page.locator('.statusbar-item[id="status.notifications"]').click({ timeout: AGAIN_MS });
  await page.locator(".notifications-center").waitFor({ timeout: AGAIN_MS });
  await photograph(`failed-${name}-notices`);
}

/** Ready once what extensions contribute is there: a menu that is opened sooner stays without it. */
export async function openWorkbench(url = scenario.url) {
  await openWindow(url);
  await page.getByRole("tab", { name: "Rolecall" }).first().waitFor();
}

/** Opens a window in which our extension need not be; anew where VS Code has found no folder in its workspace file. */
export async function openWindow(url) {
  await until(async () => {
    await page.goto(url);
    await page.locator(".monaco-workbench .part.statusbar").waitFor();
    await page.getByRole("treeitem").first().waitFor({ timeout: 3 * AGAIN_MS });
  });
}

/** Opens a window in other colours: a theme by its name, and the class that the workbench has with it. */
export async function openInColours(url, theme, kind) {
  const settings = JSON.parse(readFileSync(scenario.settings, "utf8"));
  writeFileSync(scenario.settings, JSON.stringify({ ...settings, "workbench.colorTheme": theme }));
  await openWorkbench(url);
  await page.locator(`.monaco-workbench.${kind}`).waitFor();
}

export const otherColours = [
  ["Dark Modern", "vs-dark", "dark"],
  ["Default High Contrast", "hc-black", "high-contrast"],
];

/**
 * Runs a command by its title. The palette is opened again where a page that was just drawn took the focus from it, or
 * where it was opened before the command was there.
 */
export async function runCommand(title) {
  const input = page.locator(".quick-input-widget input.input");
  const row = page.locator(".quick-input-widget .monaco-list-row", { hasText: title }).first();
  let isAgain = false;
  await until(async () => {
    if (isAgain) {
      await page.keyboard.press("Escape");
    }
    isAgain = true;
    await page.keyboard.press("F1");
    await input.fill(`>${title}`, { timeout: AGAIN_MS });
    await row.waitFor({ timeout: AGAIN_MS });
  });
  await page.keyboard.press("Enter");
  await input.waitFor({ state: "hidden" });
}

/** Chooses a row of the menu that has just been opened, which takes no click in its first tenth of a second. */
export async function choose(name) {
  const row = page.getByRole("menuitem", { name });
  await until(async () => {
    await row.click({ timeout: AGAIN_MS });
    await row.waitFor({ state: "hidden", timeout: AGAIN_MS });
  });
}

/** Performs something until it succeeds, and as long as a step may take. */
export async function until(perform) {
  const deadline = Date.now() + scenario.timeoutMs;
  for (;;) {
    try {
      return await perform();
    } catch (error) {
      if (Date.now() > deadline) {
        throw error;
      }
    }
  }
}

export async function openFromExplorer(...names) {
  for (const name of names.slice(0, -1)) {
    await page.getByRole("treeitem", { name, exact: true }).click();
  }
  await page.getByRole("treeitem", { name: names.at(-1), exact: true }).dblclick();
  await page.locator(".tab.active", { hasText: names.at(-1) }).waitFor();
  await editor.first().click();
}

/** Opens the workbench; ends with a code of its own where the browser ends by itself before anything is to be seen. */
async function openAtFirst() {
  try {
    await step("workbench", () => openWorkbench());
  } catch (error) {
    if (browser.isConnected()) {
      throw error;
    }
    console.error(`The browser has ended by itself: ${error}`);
    process.exit(scenario.browserEnded);
  }
}

/** Plays a scenario to its end; the last line printed is what *perform* returns, as JSON. */
export async function play(perform) {
  let report;
  try {
    await openAtFirst();
    report = await perform();
  } finally {
    await browser.close();
  }
  console.log(JSON.stringify(report ?? {}));
  process.exit(0);
}
