// Plays a developer who decides about files that are renamed, go or come, in the diff of all of them: `node moved.mjs SCENARIO`.
//
// The last line it prints is a JSON object: what the heads of the files say.

import { AGAIN_MS, page, play, runCommand, scenario, step, until } from "./workbench.mjs";

const rows = page.locator(".pane-body .monaco-list-row");
const row = (text) => rows.filter({ hasText: text }).first();
const lens = (title) => page.locator(".codelens-decoration a", { hasText: title }).first();
/** The head of a file in the diff: its name and its folder, with what becomes of it where it goes or comes, and where it is renamed a letter and its old name. */
const head = (name) => page.locator(".multiDiffEntry .header:visible").filter({ has: page.getByText(name, { exact: true }) }).first();
const status = page.locator('.statusbar-item[id$="rolecall.status"]');

async function scrollTo(locator) {
  await page.locator(".multiDiffEditor").first().hover({ position: { x: 300, y: 300 } });
  await until(async () => {
    if (!(await locator.isVisible())) {
      await page.mouse.wheel(0, 150);
      await locator.waitFor({ timeout: 300 });
    }
  });
}

await play(async () => {
  const report = {};
  await step("view", async () => {
    await page.getByRole("tab", { name: "Rolecall" }).first().click();
    await row("7 hunks in 6 files").waitFor();
  });
  await step("all-of-it", async () => {
    await runCommand("Rolecall: Review Proposals");
    await lens("Accept h1").waitFor();
  });
  report.heads = {};
  let clicks = 0;
  for (const { file, verdict, hunk } of scenario.decisions) {
    await step(`${verdict}-${file.replaceAll("/", "-")}`, async () => {
      await scrollTo(lens(`${verdict} ${hunk}`));
      report.heads[file] = await head(file.split("/").at(-1)).innerText();
      // The lenses may just be drawn anew after the last decision, and a click on one that goes is lost.
      await until(async () => {
        clicks += 1;
        await lens(`${verdict} ${hunk}`).click();
        await lens(`${verdict} ${hunk}`).waitFor({ state: "detached", timeout: AGAIN_MS });
      });
    });
  }
  await step("all-decided", async () => {
    await row(scenario.last).hover();
    await row(scenario.last).getByRole("button", { name: "Accept" }).first().click();
    await row("p1").waitFor({ state: "detached" });
    // "Save All Files" saves what has a tab; VS Code opens that of a file which changed unseen a moment later.
    await page.locator(".tab.dirty", { hasText: scenario.last }).waitFor();
  });
  await step("saved", async () => {
    await runCommand("File: Save All Files");
    await page.locator(".tab.dirty").first().waitFor({ state: "detached" });
    await status.filter({ hasNotText: "wait" }).waitFor();
  });
  return { ...report, clicks };
});
