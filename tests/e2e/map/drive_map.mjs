// Uses the page of `rolecall graph view` with keys alone: `node drive_map.mjs SCENARIO`, a JSON object.
//
// It prints a JSON list: the panel's heading and the folder shown after each key, or text, that the scenario types.

import { createRequire } from "node:module";
import { join } from "node:path";

const scenario = JSON.parse(process.argv[2]);
const { chromium } = createRequire(join(scenario.playwright, "_"))("playwright-core");

const browser = await chromium.launch({
  executablePath: scenario.chromium,
  headless: true,
  args: [...(process.getuid?.() === 0 ? ["--no-sandbox"] : []), "--disable-gpu", "--no-first-run"],
});
const page = await browser.newPage({ viewport: { width: 1200, height: 800 } });
const errors = [];
const requests = [];
page.on("pageerror", (error) => errors.push(error.message));
page.on("request", (request) => requests.push(request.url()));
await page.goto(scenario.page);

const seen = [];
for (const typed of scenario.keys) {
  if (typed.startsWith("text:")) await page.keyboard.type(typed.slice(5));
  else await page.keyboard.press(typed);
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0))));
  seen.push([await page.locator("#detail h2").innerText(), await page.locator("#crumbs").innerText()]);
}
const lines = await page.locator("#lines path").evaluateAll((paths) => paths.map((path) => path.getAttribute("class")));
console.log(JSON.stringify({ seen, lines, errors, requests: requests.length }));
await browser.close();
