// Plays a developer who looks at the graph around a function: `node graph.mjs SCENARIO`, a JSON object.
//
// The last line it prints is a JSON object: what was on the page, and which requests it made to the outside.

import { editor, openFromExplorer, openInColours, otherColours, page, play, runCommand, scenario, step } from "./workbench.mjs";

const input = page.locator(".quick-input-widget input.input");
const outside = [];
page.on("request", (request) => {
  const { host, protocol } = new URL(request.url());
  // VS Code's own address for files of an extension: its service worker answers, and no network is asked.
  const isOfExtension = host.endsWith(".vscode-resource.vscode-cdn.net");
  if (host !== new URL(scenario.url).host && !isOfExtension && !/^(data|blob):/.test(protocol)) {
    outside.push(request.url());
  }
});

async function putCursor(place) {
  await page.keyboard.press("Control+g");
  await input.fill(`:${place}`);
  await page.keyboard.press("Enter");
  await input.waitFor({ state: "hidden" });
}

/** The page of the graph; a webview is a frame in a frame. */
async function graphPage() {
  const deadline = Date.now() + scenario.timeoutMs;
  while (Date.now() < deadline) {
    for (const frame of page.frames()) {
      if (await frame.locator("#graph .box.center").count().catch(() => 0)) {
        return frame;
      }
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error("No graph is drawn");
}

async function drawAt({ open, at }) {
  await page.locator(".tab", { hasText: open.at(-1) }).first().click();
  await editor.first().click();
  await putCursor(at);
  await runCommand("Rolecall: Show Callers and Callees");
  return graphPage();
}

const box = (frame, label) => frame.locator(".box", { hasText: label }).first();

await play(async () => {
  const report = {};
  let frame;
  await step("source-file", () => openFromExplorer(...scenario.open));
  await step("callers-and-callees", async () => {
    await putCursor(scenario.at);
    await runCommand("Rolecall: Show Callers and Callees");
    frame = await graphPage();
    for (const name of scenario.around) {
      await box(frame, name).waitFor();
    }
    report.said = await frame.locator("#said").textContent();
    report.policy = await frame.locator("meta[http-equiv]").getAttribute("content");
  });
  await step("walked-by-keys", async () => {
    await frame.locator(".box.center").focus();
    await page.keyboard.press("ArrowLeft");
    report.left = await frame.locator(".box:focus").getAttribute("aria-label");
    await page.keyboard.press("Space");
    await frame.locator(".box.center", { hasText: scenario.walkedTo }).waitFor();
    await frame.locator(".box.center").focus();
    await page.keyboard.press("Backspace");
    await frame.locator(".box.center", { hasText: scenario.center }).waitFor();
  });
  await step("gone-to-the-source", async () => {
    await box(frame, scenario.goTo.label).click();
    await page.locator(".tab.active", { hasText: scenario.goTo.file }).waitFor();
    report.cursor = await page.locator(".statusbar-item", { hasText: /Ln \d+, Col \d+/ }).first().textContent();
  });
  await step("impact", async () => {
    await frame.locator("#kind").selectOption("impact");
    await frame.locator(".heading", { hasText: "Touched" }).first().waitFor();
  });
  await step("modules", async () => {
    await frame.locator("#kind").selectOption("modules");
    await frame.locator(".heading", { hasText: "Import" }).first().waitFor();
  });
  for (const [theme, kind, shot] of otherColours) {
    await step(shot, async () => {
      await openInColours(scenario.url, theme, kind);
      frame = await drawAt(scenario);
      await box(frame, scenario.around[0]).waitFor();
      await box(frame, scenario.center).focus();
    });
  }
  await step("many", async () => {
    await openInColours(scenario.many.url, "Light Modern", "vs");
    await openFromExplorer(...scenario.many.open);
    frame = await drawAt(scenario.many);
    await frame.locator(".box.closed").first().waitFor();
    report.boxes = await frame.locator(".box").count();
    report.manySaid = await frame.locator("#said").textContent();
  });
  await step("many-opened", async () => {
    const group = frame.locator(".box.closed").first();
    await group.focus();
    await page.keyboard.press("Enter");
    report.opened = (await frame.locator(".box").count()) - report.boxes;
    report.expanded = await frame.locator(".box:focus").getAttribute("aria-expanded");
  });
  await step("many-filtered", async () => {
    await frame.locator("#filter").fill(scenario.many.filter);
    await box(frame, scenario.many.filter).waitFor();
    report.filtered = await frame.locator(".box.leaf").count();
  });
  await editor.first().click();
  return { ...report, outside };
});
