/** The entry of the tests that run inside the extension host of a real VS Code; tests/e2e/vscode/test_vscode_host.py starts it. */

import Mocha from "mocha";

const TIMEOUT_MS = 120_000;

/** Runs every test; rejects where one fails. */
export async function run(): Promise<void> {
  const output = process.env["ROLECALL_HOST_REPORT"] ?? "";
  const mocha = new Mocha({ ui: "bdd", timeout: TIMEOUT_MS, reporter: "json", reporterOptions: { output } });
  mocha.suite.emit("pre-require", globalThis, "", mocha);
  await import("./activation.ts");
  await import("./settings.ts");
  await import("./models.ts");
  await import("./secrets.ts");
  await import("./providers.ts");
  await import("./commands.ts");
  const failed = await new Promise<number>((resolve) => void mocha.run(resolve));
  if (failed > 0) {
    throw new Error(`${failed} tests failed: see ${output}`);
  }
}
