// Plays a developer who has tests generated for a folder: `node folder.mjs SCENARIO`, a JSON object.

import { choose, page, play, scenario, step, untilProposed } from "./workbench.mjs";

const dialog = page.locator(".monaco-dialog-box");
const toast = page.locator(".notification-toast");

await play(async () => {
  await step("menu-of-the-folder", async () => {
    await page.getByRole("treeitem", { name: scenario.folder, exact: true }).click({ button: "right" });
    await choose("Generate Tests for Folder");
  });
  let asked = "";
  await step("its-files-are-named", async () => {
    await dialog.waitFor();
    asked = await dialog.textContent();
    await dialog.getByRole("button", { name: "Generate" }).click();
  });
  await step("one-after-the-other", () => toast.filter({ hasText: "of 2)" }).first().waitFor());
  await step("done", () => toast.filter({ hasText: scenario.said }).first().waitFor(untilProposed));
  return { asked };
});
