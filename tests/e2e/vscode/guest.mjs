// Plays a developer whose editor has an agent that calls Rolecall's tools: `node guest.mjs SCENARIO`, a JSON object.

import { existsSync } from "node:fs";

import { openFromExplorer, page, play, runCommand, scenario, step, untilProposed } from "./workbench.mjs";

const status = page.locator('.statusbar-item[id$="rolecall.status"]');
const right = page.locator(".editor.modified .view-line");

await play(async () => {
  await step("file", () => openFromExplorer("shop", "price.py"));
  await step("agent-proposed", async () => {
    await status.filter({ hasText: "no model" }).waitFor();
    await runCommand("Guest: Call the Tools");
    await right.filter({ hasText: "round(sum(items), 2)" }).first().waitFor(untilProposed);
  });
  await step("agent-answered", async () => {
    while (!existsSync(scenario.answers)) {
      await page.waitForTimeout(200);
    }
    await status.filter({ hasText: "wait" }).waitFor();
  });
  return {};
});
