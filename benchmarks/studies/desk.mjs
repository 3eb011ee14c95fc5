// Measures a window with the extension beside the same one without it: `node desk.mjs SCENARIO`, a JSON object.
//
// The last line it prints is a JSON object with lists of milliseconds. Before it, "idle" is said once both windows are
// left alone; a line that comes in ends that.

import { once } from "node:events";

import { AGAIN_MS, openWindow, openWorkbench, page, play, runCommand, scenario, step, until } from "../../tests/e2e/vscode/workbench.mjs";

const SETTLE_MS = 20_000;
/** Nobody decides faster. */
const BETWEEN_MS = 700;
const STATES = { Accept: "accepted", Reject: "rejected" };
const rows = page.locator(".pane-body .monaco-list-row");
const row = (text) => rows.filter({ hasText: text }).first();
const lens = (title) => page.locator(".codelens-decoration a", { hasText: title }).first();
const status = page.locator('.statusbar-item[id$="rolecall.status"]');

/** How long a window that is loaded takes until its workbench stands, as VS Code marks it. */
async function startUp() {
  const marked = () => performance.getEntriesByName("code/didStartWorkbench")[0]?.startTime;
  await page.waitForFunction(marked);
  return page.evaluate(marked);
}

/** How long the activation of the extension took, as VS Code lists it; the list stands in front of all else then. */
async function activation() {
  await runCommand("Developer: Show Running Extensions");
  const told = await page.locator(".runtime-extensions-editor .monaco-list-row", { hasText: "Rolecall" }).first().innerText();
  return Number(/Activation: (\d+)ms/.exec(told)[1]);
}

/** Has the page note when something is pressed next, and when `isShown`, a function, first holds after that. */
async function watch(isShown, given) {
  await page.evaluate(
    ([source, value]) => {
      const holds = new Function(`return (${source})`)();
      window.measured = new Promise((resolve) => {
        let start;
        const look = () => {
          if (holds(value)) {
            requestAnimationFrame(() => resolve(performance.now() - start));
          } else {
            requestAnimationFrame(look);
          }
        };
        const begin = ({ timeStamp }) => {
          if (start === undefined) {
            start = timeStamp;
            look();
          }
        };
        for (const kind of ["mousedown", "keydown"]) {
          document.addEventListener(kind, begin, { capture: true, once: true });
        }
      });
    },
    [isShown.toString(), given],
  );
}

/** The milliseconds from a press until the picture after the first that shows what it did. */
async function timed(isShown, given, press) {
  await watch(isShown, given);
  await press();
  const patience = new Promise((_, reject) => setTimeout(() => reject(new Error("It is not to be seen.")), scenario.timeoutMs).unref());
  return Promise.race([page.evaluate(() => window.measured), patience]);
}

/** Whether the diff of several files is drawn: it is full, and each file in sight has its lines, and what is other in them. */
function isDrawn() {
  const frame = document.querySelector(".multiDiffEditor")?.getBoundingClientRect();
  const isInSight = (element) => {
    const { top, bottom, height } = element.getBoundingClientRect();
    return height > 0 && bottom > frame.top && top < frame.bottom - 60;
  };
  const entries = frame === undefined ? [] : [...document.querySelectorAll(".multiDiffEntry")].filter(isInSight);
  const lowest = Math.max(0, ...entries.map((entry) => entry.getBoundingClientRect().bottom));
  return entries.length > 0 && lowest >= frame.bottom - 60 && entries.every((entry) => entry.querySelector(".line-insert, .line-delete"));
}

/** Whether it shows that a hunk is decided: its row says so, or no lens above it is left. */
function isDecided({ hunk, words, state }) {
  const isTold = [...document.querySelectorAll(".pane-body .monaco-list-row")].some(
    ({ textContent }) => textContent.includes(words) && textContent.includes(state),
  );
  const lenses = [...document.querySelectorAll(".codelens-decoration a")].map(({ textContent }) => textContent.trim());
  return isTold || (hunk !== "" && !lenses.some((text) => text.endsWith(`Why ${hunk}`)));
}

/** How many rows in sight say that their hunk is decided. */
function countDecided() {
  return [...document.querySelectorAll(".pane-body .monaco-list-row")].filter(({ textContent }) => /accepted|rejected/.test(textContent)).length;
}

/** Whether more rows say so than *before*. */
function isMore(before) {
  return [...document.querySelectorAll(".pane-body .monaco-list-row")].filter(({ textContent }) => /accepted|rejected/.test(textContent)).length > before;
}

async function openGit() {
  await openWindow(scenario.plain);
  const began = await startUp();
  await page.getByRole("tab", { name: /Source Control/ }).first().click();
  const group = page.locator(".scm-view .monaco-list-row", { hasText: "Changes" }).first();
  await group.waitFor();
  await runCommand("View: Close All Editors"); // what was left open is there again
  const button = group.getByRole("button", { name: "Open Changes" }).first();
  return { began, opened: await timed(isDrawn, null, () => press(group, button)) };
}

async function openProposal() {
  await openWorkbench(scenario.url);
  const began = await startUp();
  await openView();
  await runCommand("View: Close All Editors");
  const button = row("200 hunks").getByRole("button", { name: "Review Proposals" }).first();
  return { began, opened: await timed(isDrawn, null, () => press(row("200 hunks"), button)) };
}

async function openView() {
  await until(async () => {
    if (!(await row(" hunks").isVisible())) {
      await page.getByRole("tab", { name: "Rolecall" }).first().click(); // closes it where the window was left with it
      await row(" hunks").waitFor({ timeout: AGAIN_MS });
    }
  });
  await status.filter({ hasText: "wait" }).waitFor();
}

/** Points at a row, whose buttons are there while one does, and clicks one; what is said about another place goes away first. */
async function press(at, button) {
  await page.mouse.move(900, 500);
  await until(async () => {
    await at.locator(".label-name, .name").first().hover({ timeout: 2000 });
    await button.click({ timeout: 2000 });
  });
}

/** Decides `scenario.decided` times by each way, and puts the milliseconds until each decision shows into *taken*. */
async function decideBy(ways, afterwards, taken) {
  for (const [way, decide] of Object.entries(ways)) {
    taken[way] = [];
    for (let n = 0; n < scenario.decided; n += 1) {
      taken[way].push(await decide(n % 2 === 0 ? "Accept" : "Reject"));
      await page.waitForTimeout(BETWEEN_MS);
      await afterwards();
    }
  }
}

async function byLens(verdict) {
  const one = page.locator(".codelens-decoration a:visible", { hasText: `${verdict} h` }).first();
  await until(async () => {
    if (!(await one.isVisible())) {
      await page.locator(".multiDiffEditor").first().hover({ position: { x: 300, y: 300 } });
      await page.mouse.wheel(0, 200);
      await one.waitFor({ timeout: 1000 });
    }
  });
  const hunk = /h\d+/.exec(await one.innerText())[0];
  const taken = await timed(isDecided, { hunk, words: `${hunk} ·`, state: STATES[verdict] }, () => one.click());
  await lensOf(hunk).waitFor({ state: "detached" });
  return taken;
}

async function byRow(verdict) {
  const hunk = await firstOpen();
  const button = rowOf(hunk).getByRole("button", { name: verdict }).first();
  return timed(isDecided, { hunk: "", words: `${hunk} ·`, state: STATES[verdict] }, () => press(rowOf(hunk), button));
}

/** The cursor is put on a hunk by the key for the next one first. */
async function byKey(verdict) {
  await firstOpen();
  await page.keyboard.press("Control+F8");
  await page.waitForTimeout(BETWEEN_MS);
  await lens("Accept h").waitFor();
  const before = await page.evaluate(countDecided);
  const keys = verdict === "Accept" ? "Control+F9" : "Control+Shift+F9";
  return timed(isMore, before, () => page.keyboard.press(keys));
}

const rowOf = (hunk) => rows.filter({ hasText: `${hunk} ·` }).first();
const lensOf = (hunk) => page.locator(".codelens-decoration a", { hasText: new RegExp(`Why ${hunk}$`) }).first();

/** The first hunk of the view that waits; its row is brought into sight. */
async function firstOpen() {
  const open = rows.filter({ hasText: /h\d+ ·/ }).filter({ hasNotText: /accepted|rejected/ }).first();
  await until(async () => {
    if ((await open.count()) === 0 || !(await open.evaluate(isWhole))) {
      await rows.nth(3).hover();
      await page.mouse.wheel(0, 150);
      throw new Error("The next row is not in sight.");
    }
  });
  return /h\d+(?= ·)/.exec(await open.innerText())[0];
}

/** Whether a row is in sight to its lower edge. */
function isWhole(element) {
  return element.getBoundingClientRect().bottom <= element.closest(".monaco-scrollable-element").getBoundingClientRect().bottom;
}

async function takeBack() {
  const decided = rows.filter({ hasText: /accepted|rejected/ });
  await page.keyboard.press("Control+Alt+r");
  await page.keyboard.press("u");
  await decided.first().waitFor({ state: "detached" });
  await page.waitForTimeout(BETWEEN_MS);
}

async function openSmall() {
  await openWorkbench(scenario.small);
  await openView();
  const button = row("6 hunks").getByRole("button", { name: "Review Proposals" }).first();
  await press(row("6 hunks"), button);
  await lens("Accept h1").waitFor();
}

const WAYS = { "lens in the diff": byLens, "button in the view": byRow, "key in the diff": byKey };

/** Whatever is measured is told, also where a later step fails. */
async function measure(report) {
  for (let n = 0; n < scenario.rounds; n += 1) {
    await step(`git-${n}`, async () => {
      const { began, opened } = await openGit();
      report.without.push(began);
      report.git.push(opened);
    });
    await step(`proposal-${n}`, async () => {
      const { began, opened } = await openProposal();
      report.withIt.push(began);
      report.proposal.push(opened);
      report.activation.push(await activation());
    });
  }
  await step("many", async () => {
    await openProposal();
    await lens("Accept h1").waitFor();
    await decideBy(WAYS, () => undefined, report.many);
  });
  await step("small", async () => {
    await openSmall();
    await decideBy(WAYS, takeBack, report.small);
  });
  await step("idle", async () => {
    const apart = await page.context().browser().newContext();
    const other = await apart.newPage();
    await other.goto(scenario.plain);
    await other.getByRole("treeitem").first().waitFor();
    await openWorkbench(scenario.url);
    await openView();
    await page.waitForTimeout(SETTLE_MS);
    console.log("idle");
    await once(process.stdin, "data");
    await apart.close();
  });
}

await play(async () => {
  const report = { withIt: [], without: [], proposal: [], git: [], activation: [], many: {}, small: {} };
  try {
    await measure(report);
  } catch (error) {
    console.error(JSON.stringify(report));
    throw error;
  }
  return report;
});
