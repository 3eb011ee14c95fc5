// Plays a developer who finds their way through code: `node navigate.mjs SCENARIO`, a JSON object.

import { editor, openFromExplorer, page, play, runCommand, scenario, step } from "./workbench.mjs";

const outline = page.locator(".outline-pane .monaco-list-row");
const peeked = page.locator(".peekview-widget .monaco-list-row");
const quickPick = page.locator(".quick-input-widget .monaco-list-row");
const input = page.locator(".quick-input-widget input.input");

async function putCursor(place) {
  await page.keyboard.press("Control+g");
  await input.fill(`:${place}`);
  await page.keyboard.press("Enter");
  await input.waitFor({ state: "hidden" });
}

await play(async () => {
  await step("source-file", () => openFromExplorer(...scenario.open));
  await step("outline", async () => {
    await runCommand("Explorer: Focus on Outline View");
    for (const name of scenario.outline) {
      await outline.filter({ hasText: name }).first().waitFor();
    }
  });
  await step("references", async () => {
    await editor.first().click();
    await putCursor(scenario.call);
    await page.keyboard.press("Shift+F12");
    await peeked.filter({ hasText: scenario.reference }).first().waitFor();
  });
  await step("call-hierarchy", async () => {
    await page.keyboard.press("Escape");
    await putCursor(scenario.call);
    await runCommand("Peek Call Hierarchy");
    await peeked.filter({ hasText: scenario.caller }).first().waitFor();
  });
  await step("type-hierarchy", async () => {
    await page.keyboard.press("Escape");
    await putCursor(scenario.type);
    await runCommand("Peek Type Hierarchy");
    await peeked.filter({ hasText: scenario.subtype }).first().waitFor();
  });
  await step("workspace-symbol", async () => {
    await page.keyboard.press("Escape");
    await page.keyboard.press("Control+t");
    await input.fill(`#${scenario.symbol}`);
    await quickPick.filter({ hasText: scenario.symbol }).first().waitFor();
  });
  await step("definition", async () => {
    await page.keyboard.press("Escape");
    await putCursor(scenario.call);
    await page.keyboard.press("F12");
    await page.locator(".tab.active", { hasText: scenario.definedIn }).waitFor();
    await outline.filter({ hasText: scenario.defined }).first().waitFor();
  });
});
