// Plays a developer who has tests written and looks at them in the Testing view: `node testing.mjs SCENARIO`, a JSON object.
//
// The last line it prints is a JSON object: what was to be seen, and what lay on disk before anything was accepted.

import { readdirSync } from "node:fs";

import { openFromExplorer, openWorkbench, page, play, runCommand, scenario, step, until, untilProposed } from "./workbench.mjs";

/** More than a run of a few tests takes. */
const RUN_MS = 30_000;

const rows = page.locator(".test-explorer-tree .monaco-list-row");
const row = (text) => rows.filter({ hasText: text }).first();
const state = (text, icon) => row(text).locator(`.codicon-testing-${icon}-icon`);
const covered = page.locator(".test-coverage-list-item");
const results = page.locator(".test-output-peek-tree .monaco-list-row");
const status = page.locator('.statusbar-item[id$="rolecall.status"]');
const titleBar = (name) => page.locator(`.editor-actions a[aria-label^="${name}"]`).first();
const reached = (kind) => page.locator(`.coverage-deco-gutter.coverage-deco-${kind}`).first();

async function openTesting(title) {
  if (!(await page.locator(".test-explorer-tree").isVisible())) {
    await page.getByRole("tab", { name: "Testing" }).first().click();
  }
  await row(title).waitFor();
}

/** Clicks the button *name* that a row of the view shows while one points at it. */
async function press(text, name) {
  await row(text).hover();
  await row(text).getByRole("button", { name, exact: true }).click();
}

async function unfold(text, below) {
  await row(text).click();
  await page.keyboard.press("ArrowRight");
  await row(below).waitFor();
}

/** The files of the workspace, those that Python and pytest might leave behind too. */
const files = () => readdirSync(scenario.root, { recursive: true }).map(String).sort().join(" ");

async function generateAndSeeThemPass(seen) {
  await step("asked", async () => {
    await openFromExplorer("price.py");
    await runCommand("Rolecall: Generate Tests");
  });
  await step("proposed", () => status.filter({ hasText: "wait" }).waitFor(untilProposed));
  await step("testing-view", async () => {
    await openTesting("Tests for price.py");
    await state("Tests for price.py", "passed").waitFor();
  });
  await step("unfolded", async () => {
    await unfold("Tests for price.py", "tests/test_price.py");
    await unfold("tests/test_price.py", "test_discount");
    seen.rows = (await rows.allTextContents()).join("\n");
    seen.labels = (await rows.evaluateAll((all) => all.map((one) => one.getAttribute("aria-label")))).join("\n");
  });
  await step("with-coverage", async () => {
    await press("Tests for price.py", "Run Test with Coverage");
    await covered.filter({ hasText: "price.py" }).filter({ hasText: "100" }).first().waitFor(untilProposed);
    seen.written = files();
  });
  await step("covered-lines", async () => {
    await covered.filter({ hasText: "price.py" }).first().click();
    await page.locator(".tab.active", { hasText: "price.py" }).waitFor();
    await reached("hit").waitFor();
  });
}

async function acceptAndRunAgain(seen) {
  await step("accepted", async () => {
    await runCommand("Rolecall: Review Proposals");
    await titleBar("Accept").click();
    await row("(accepted)").waitFor();
  });
  await step("after-a-reload", async () => {
    await page.reload();
    await page.locator(".monaco-workbench .part.statusbar").waitFor();
    await openTesting("(accepted)");
    await state("(accepted)", "passed").waitFor();
  });
  await step("run-again", async () => {
    // VS Code does not open the results of the first run after a reload by itself.
    await until(async () => {
      await press("(accepted)", "Run Test");
      await results.filter({ hasText: "test_discount" }).first().waitFor({ timeout: RUN_MS });
    });
    await state("(accepted)", "passed").waitFor();
    seen.accepted = files();
  });
}

async function seeWhatFailsAndWhatSurvives() {
  await step("second", async () => {
    await openWorkbench(scenario.second);
    await openFromExplorer("shop", "price.py");
  });
  await step("fails", async () => {
    await openTesting("Tests for shop/price.py");
    await state("Tests for shop/price.py", "failed").waitFor();
  });
  await step("compared", async () => {
    await press("Tests for shop/price.py", "Run Test with Coverage");
    await covered.filter({ hasText: "price.py" }).filter({ hasText: "100" }).first().waitFor(untilProposed);
  });
  await step("survivor", async () => {
    await covered.filter({ hasText: "price.py" }).first().click();
    await reached("hit").waitFor();
  });
}

await play(async () => {
  const seen = {};
  await generateAndSeeThemPass(seen);
  await acceptAndRunAgain(seen);
  await seeWhatFailsAndWhatSurvives();
  return seen;
});
