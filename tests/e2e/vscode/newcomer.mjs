// Plays somebody who has just installed the extension and has no model: `node newcomer.mjs SCENARIO`, a JSON object.
//
// Every click is counted; no key is pressed. The last line it prints is a JSON object: how many clicks it took.

import { page, play, scenario, step, untilProposed } from "./workbench.mjs";

const status = page.locator('.statusbar-item[id$="rolecall.status"]');
const titleBar = (name) => page.locator(`.editor-actions a[aria-label^="${name}"]`).first();

let clicks = 0;
async function click(locator) {
  await locator.click();
  clicks += 1;
}

await play(async () => {
  await step("file", async () => {
    await click(page.getByRole("treeitem", { name: scenario.file, exact: true }));
    await page.locator(".tab.active", { hasText: scenario.file }).waitFor();
  });
  await step("tests-asked-for", () => click(titleBar("Generate Tests")));
  await step("proposed", () => status.filter({ hasText: "wait" }).waitFor(untilProposed));
  await step("review", async () => {
    await titleBar("Accept").waitFor();
    await page.locator(".codelens-decoration a", { hasText: "Accept" }).first().waitFor();
  });
  await step("accepted", async () => {
    await click(titleBar("Accept"));
    await status.filter({ hasText: "no model" }).waitFor();
  });
  return { clicks: String(clicks) };
});
