/** Tests for a whole folder: its files are named first, then one run after the other writes a proposal for each. */

import { t } from "@vscode/l10n";
import { commands, ProgressLocation, RelativePattern, Uri, window, workspace } from "vscode";
import type { CancellationToken, Disposable } from "vscode";

import { mayNeedTests } from "./pythonFiles.ts";
import type { RunParams } from "./protocol.ts";
import { countFiles } from "./review/words.ts";
import type { Server } from "./server.ts";
import { asNotice } from "./setup/plainText.ts";

const NAMED = 12;
const NOT_OURS = "**/{.venv,venv,env,node_modules,site-packages,__pycache__,.tox,.nox,build,dist}/**";

export function registerFolderTests(server: Server, mayBegin: (command: string) => Promise<boolean>): Disposable {
  return commands.registerCommand("rolecall.tests.generateFolder", async (folder: unknown) => {
    if (folder instanceof Uri && (await mayBegin("rolecall.tests.generate"))) {
      await generateFor(server, folder);
    }
  });
}

async function generateFor(server: Server, folder: Uri): Promise<void> {
  const files = await filesIn(folder);
  const where = workspace.asRelativePath(folder);
  if (files.length === 0) {
    void window.showInformationMessage(asNotice(t("Rolecall: {0} holds no Python file that tests could be written for.", where)));
    return;
  }
  const named = files.slice(0, NAMED).map((file) => workspace.asRelativePath(file));
  const more = files.length > NAMED ? `\n${t("… and {0} more", files.length - NAMED)}` : "";
  const detail = `${t("One file after the other, each with a proposal of its own. Nothing is written before you accept it.")}\n\n${named.join("\n")}${more}`;
  const what = countFiles(files.length);
  const question = t("Generate tests for {0} in {1}?", what, where);
  if ((await window.showInformationMessage(question, { modal: true, detail }, t("Generate"))) === undefined) {
    return;
  }
  const proposals = await window.withProgress(
    { location: ProgressLocation.Notification, title: t("Rolecall: tests"), cancellable: true },
    (progress, token) =>
      oneByOne(server, files, token, (file, n) =>
        progress.report({ message: asNotice(t("{0} ({1} of {2})", workspace.asRelativePath(file), n + 1, files.length)), increment: 100 / files.length }),
      ),
  );
  const said = [t("Rolecall: {0} of {1} in {2} got a proposal of tests.", proposals.made, what, where), ...(proposals.cancelled ? [t("The rest was cancelled.")] : [])].join(" ");
  if ((await window.showInformationMessage(asNotice(said), ...(proposals.made > 0 ? [t("Review")] : []))) !== undefined) {
    await commands.executeCommand("rolecall.review.show");
  }
}

/** The files that tests may be written for, in the order of their paths; none that are empty. */
async function filesIn(folder: Uri): Promise<Uri[]> {
  const found = await workspace.findFiles(new RelativePattern(folder, "**/*.py"), NOT_OURS);
  const wanted = found.filter((file) => mayNeedTests(workspace.asRelativePath(file, false)));
  const states = await Promise.all(wanted.map((file) => workspace.fs.stat(file)));
  return wanted.filter((_, n) => (states[n]?.size ?? 0) > 0).sort((one, other) => (one.path < other.path ? -1 : 1));
}

/** Runs for each of *files*, until the developer cancels; those that begin nothing are passed over. */
async function oneByOne(
  server: Server,
  files: readonly Uri[],
  token: CancellationToken,
  tell: (file: Uri, n: number) => void,
): Promise<{ readonly made: number; readonly cancelled: boolean }> {
  const { code2ProtocolConverter: convert } = await server.ready();
  let made = 0;
  for (const [n, file] of files.entries()) {
    if (token.isCancellationRequested) {
      return { made, cancelled: true };
    }
    tell(file, n);
    made += (await runFor(server, convert.asUri(file), token)) ? 1 : 0;
  }
  return { made, cancelled: token.isCancellationRequested };
}

/** Whether a run for the file *uri* made a proposal; it is cancelled with *token*. */
async function runFor(server: Server, uri: string, token: CancellationToken): Promise<boolean> {
  // Heard from before the command on: a short run may have ended before the command is answered.
  const ended: RunParams[] = [];
  let wake = (): void => undefined;
  const listening = server.onRun((run) => {
    if (run.state !== "started" && run.state !== "waiting") {
      ended.push(run);
      wake();
    }
  });
  try {
    const reply = await commands.executeCommand<{ readonly runId?: string } | undefined>("rolecall.tests.generate", { uri });
    const runId = reply?.runId;
    if (runId === undefined || runId === "") {
      return false;
    }
    const cancelling = token.onCancellationRequested(() => commands.executeCommand("rolecall.run.cancel", { runId }));
    const isOver = (): RunParams | undefined => ended.find((run) => run.runId === runId);
    while (isOver() === undefined) {
      await new Promise<void>((resolve) => (wake = resolve));
    }
    cancelling.dispose();
    return isOver()?.proposalId !== undefined;
  } finally {
    listening.dispose();
  }
}
