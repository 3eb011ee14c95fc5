// Plays a developer who has hunks made anew, from a lens and from an answer in a thread: `node anew.mjs SCENARIO`, a JSON object.

import { openFromExplorer, page, play, runCommand, scenario, step, untilProposed } from "./workbench.mjs";

const input = page.locator(".quick-input-widget input.input");
const box = (asks) => page.locator(".quick-input-widget", { hasText: asks });
const modified = page.locator(".editor.modified .view-line");
const lens = (title) => page.locator(".codelens-decoration a", { hasText: title }).first();
const row = (text) => page.locator(".pane-body .monaco-list-row").filter({ hasText: text }).first();
const tab = (title) => page.locator(".tab.active", { hasText: title });
const reply = page.locator(".review-widget .review-thread-reply-button:visible").first();

await play(async () => {
  await step("asked", async () => {
    await openFromExplorer("shop", "price.py");
    await runCommand("Rolecall: Implement…");
    await box("What shall the Engineer implement?").waitFor();
    await input.fill(scenario.brief);
    await page.keyboard.press("Enter");
  });
  await step("proposed", async () => {
    await tab("price.py (p1)").waitFor(untilProposed);
    await lens("Revise h1…").waitFor();
  });
  await step("what-shall-be-different", async () => {
    await lens("Revise h1…").click();
    await box("What shall be different in h1?").waitFor();
    await input.fill(scenario.first.says);
  });
  await step("made-anew-from-a-lens", async () => {
    await page.keyboard.press("Enter");
    await modified.filter({ hasText: scenario.first.line }).first().waitFor(untilProposed);
    await tab("price.py (p2)").waitFor();
  });
  await step("the-other-hunk", async () => {
    await page.getByRole("tab", { name: "Rolecall" }).first().click();
    await row("h2").click();
    await tab("price.py (p1)").waitFor();
    await lens("Why h2").click();
    await reply.click();
    await page.keyboard.type(scenario.second.says);
  });
  await step("made-anew-from-a-thread", async () => {
    await page.locator(".review-widget .form-actions").getByText("Make Anew", { exact: true }).first().click();
    await modified.filter({ hasText: scenario.second.line }).first().waitFor(untilProposed);
    await tab("price.py (p3)").waitFor();
  });
  await step("both-accepted", async () => {
    for (const proposal of ["p3", "p2"]) {
      await row(`${proposal} ·`).hover();
      await row(`${proposal} ·`).getByRole("button", { name: "Accept" }).first().click();
      await row(`${proposal} ·`).waitFor({ state: "detached" });
    }
    await page.locator(".tab.dirty", { hasText: "price.py" }).waitFor();
  });
  await step("saved", async () => {
    await runCommand("File: Save All Files");
    await page.locator(".tab.dirty").first().waitFor({ state: "detached" });
  });
});
