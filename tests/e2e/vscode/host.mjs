// Has the tests of client-vscode/test-host/ run in the extension host of the window that is opened: `node host.mjs SCENARIO`.
//
// The last line it prints is a JSON object: the exit code of the tests, and what they said.

import { page, play } from "./workbench.mjs";

const said = [];
let end;
const ended = new Promise((resolve) => {
  end = resolve;
});
await page.exposeFunction("codeAutomationLog", (kind, words) => said.push(`${kind}: ${words.join(" ")}`));
await page.exposeFunction("codeAutomationExit", (code) => end(code));

await play(async () => ({ code: await ended, said }));
