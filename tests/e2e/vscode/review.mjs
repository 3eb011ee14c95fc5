// Plays a developer who reviews proposals: `node review.mjs SCENARIO`, a JSON object.
//
// The last line it prints is a JSON object: what files held before they were saved, and how long things took to show (ms).

import { existsSync, readFileSync } from "node:fs";

import { openWorkbench, page, play, runCommand, scenario, step } from "./workbench.mjs";

const rows = page.locator(".pane-body .monaco-list-row");
const dialog = page.locator(".monaco-dialog-box");
const toast = page.locator(".notification-toast");
const modified = page.locator(".editor.modified .view-line");

const row = (text) => rows.filter({ hasText: text }).first();
const lens = (title) => page.locator(".codelens-decoration a", { hasText: title }).first();
const tab = (title) => page.locator(".tab", { hasText: title }).first();
const gone = (locator) => locator.waitFor({ state: "detached" });

/** Clicks the button *name* that a row of the view shows while one points at it. */
async function press(text, name) {
  await row(text).hover();
  await row(text).getByRole("button", { name }).first().click();
}

async function openView() {
  await page.getByRole("tab", { name: "Rolecall" }).first().click();
  await row(" hunks").waitFor();
}

function onDisk(path) {
  return existsSync(`${scenario.root}/${path}`) ? readFileSync(`${scenario.root}/${path}`, "utf8") : null;
}

/**
 * How long it takes from a decision until the view says so, for each of *texts*.
 *
 * The button is looked for in the moment it is pressed: the view may draw its rows anew at any time, and a click on a
 * button that is gone is lost. So is one on a row that VS Code no longer knows, of which a notice says that nothing was
 * done: it is pressed once more, as a person would.
 */
async function timeOf(texts, name) {
  const taken = [];
  for (const text of texts) {
    await row(text).hover();
    await row(text).getByRole("button", { name }).first().waitFor();
    taken.push(
      await page.evaluate(
        ([words, state, label, patienceMs]) =>
          new Promise((resolve, reject) => {
            setTimeout(() => reject(new Error(`It does not show that ${words} is ${state}.`)), patienceMs);
            let start = 0;
            const rows = () => [...document.querySelectorAll(".pane-body .monaco-list-row")].filter((each) => each.textContent.includes(words));
            const observer = new MutationObserver(() => {
              if (rows().some((each) => each.textContent.includes(state))) {
                observer.disconnect();
                clearInterval(again);
                resolve(performance.now() - start);
              }
            });
            observer.observe(document.body, { subtree: true, childList: true, characterData: true, attributes: true });
            const press = () => {
              const buttons = rows().flatMap((each) => [...each.querySelectorAll("[role=button]")]);
              start = performance.now();
              buttons.find((each) => each.getAttribute("aria-label")?.includes(label))?.click();
            };
            const isLost = () => [...document.querySelectorAll(".notification-toast")].some((each) => each.textContent.includes("Press it once more"));
            const again = setInterval(() => (isLost() ? press() : undefined), 5_000);
            press();
          }),
        [text, "rejected", name, scenario.timeoutMs],
      ),
    );
  }
  return taken;
}

async function readDecideEdit() {
  await step("view", openView);
  await step("whole-proposal", async () => {
    await runCommand("Rolecall: Review Proposals");
    await lens("Accept h1").waitFor();
    await page.locator(".comment-body", { hasText: "140 passed" }).first().waitFor();
    if (scenario.picture) {
      await page.screenshot({ path: scenario.picture });
    }
  });
  await step("accepted-by-lens", async () => {
    await lens("Accept h1").click();
    await gone(lens("Accept h1"));
    await row("accepted").waitFor();
    await tab("price.py").waitFor();
  });
  await step("rejected-with-a-reason", async () => {
    await lens("Why h2").click();
    await page.locator(".review-thread-reply-button:visible").first().click();
    await page.keyboard.type("Callers round it themselves.");
    await page.locator(".review-widget .form-actions").getByText("Reject", { exact: true }).first().click();
    await row("rejected").waitFor();
  });
  await step("hunk-in-its-diff", async () => {
    await row("changes checkout").click();
    await tab("cart.py (p1)").waitFor();
    await lens("Accept h4").waitFor();
  });
  await step("edited-on-the-right", async () => {
    await modified.filter({ hasText: "with_tax(total(cart))" }).first().click();
    await page.keyboard.press("End");
    await page.keyboard.type("  # gross");
    await page.keyboard.press("Control+s");
    await row("edited").waitFor();
    await page.locator(".tab.active:not(.dirty)").waitFor();
  });
  await step("a-line-of-no-hunk-is-refused", async () => {
    await modified.filter({ hasText: "def checkout" }).first().click();
    await page.keyboard.press("End");
    await page.keyboard.type("  # no");
    await page.keyboard.press("Control+s");
    await toast.filter({ hasText: "belongs to no hunk" }).first().waitFor();
    await runCommand("Notifications: Clear All Notifications");
    await runCommand("File: Revert File");
    await page.locator(".tab.active:not(.dirty)").waitFor();
  });
  await step("accepted-with-what-it-needs", async () => {
    await press("changes checkout", "Accept");
    await gone(row("p1"));
    await toast.filter({ hasText: "not saved yet" }).waitFor();
    await gone(tab("cart.py (p1)"));
  });
  const unsaved = Object.fromEntries(scenario.files.map((path) => [path, onDisk(path)]));
  await step("undone", async () => {
    await runCommand("Rolecall: Undo Last Decision");
    await row("p1").waitFor();
    await row("adds with_tax").filter({ hasNotText: "accepted" }).waitFor();
  });
  await step("marked-in-the-file", async () => {
    await tab("cart.py").click();
    await page.locator(".margin-view-overlays .cgmr, .glyph-margin-widgets .cgmr").first().waitFor();
    await page.locator(".tab.active").filter({ hasText: "cart.py" }).waitFor();
  });
  await step("next-hunk-by-key", async () => {
    await page.locator(".editor-instance .view-lines").first().click();
    await page.keyboard.press("Control+F8");
    await page.locator(".tab.active", { hasText: "(p1)" }).waitFor();
  });
  await step("accepted-again", async () => {
    await press("Add the tax", "Accept");
    await gone(row("p1"));
  });
  await step("saved", async () => {
    await toast.filter({ hasText: "not saved yet" }).getByRole("button", { name: "Save" }).first().click();
    await page.locator(".tab.dirty").first().waitFor({ state: "detached" });
  });
  return unsaved;
}

/** A helper is rejected, and who calls it accepted: it is said what would be missing, and nothing is changed. */
async function refuseWhatBreaks() {
  await step("another-folder", async () => {
    await openWorkbench(scenario.second);
    await openView();
  });
  await step("a-helper-is-rejected", async () => {
    await press("adds with_tax", "Reject");
    await row("rejected").waitFor();
  });
  await step("what-would-break", async () => {
    await press("changes checkout", "Accept");
    await dialog.filter({ hasText: "would break" }).filter({ hasText: "with_tax" }).waitFor();
  });
  await step("cancelled", async () => {
    await dialog.getByRole("button", { name: "Cancel", exact: true }).click();
    await gone(dialog);
    await row("changes checkout").filter({ hasNotText: "accepted" }).waitFor();
  });
}

/** Many hunks: opened as one diff, and as many decisions as are measured. */
async function manage() {
  await step("many-folder", async () => {
    await openWorkbench(scenario.many);
    await openView();
    await row("200 hunks in 40 files").waitFor();
  });
  let opened = 0;
  await step("many-opened", async () => {
    await row("200 hunks").hover();
    const start = Date.now();
    await row("200 hunks").getByRole("button", { name: "Review Proposals" }).first().click();
    await lens("Accept h1").waitFor();
    opened = Date.now() - start;
  });
  let decided = [];
  await step("many-decided", async () => {
    decided = await timeOf(scenario.decided, "Reject");
    await gone(lens("Accept h1 "));
  });
  return { opened, decided };
}

await play(async () => {
  const unsaved = await readDecideEdit();
  await refuseWhatBreaks();
  const { opened, decided } = await manage();
  return { unsaved, opened, decided };
});
