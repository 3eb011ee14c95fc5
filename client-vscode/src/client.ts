/** One server process and the language client that speaks with it. */

import { spawn } from "node:child_process";
import type { ChildProcessWithoutNullStreams } from "node:child_process";
import { once } from "node:events";
import { homedir } from "node:os";
import { createInterface } from "node:readline";

import { t } from "@vscode/l10n";
import { window, workspace } from "vscode";
import type { LogOutputChannel } from "vscode";
import { CloseAction, ErrorAction, LanguageClient, RevealOutputChannelOn } from "vscode-languageclient/node";
import type { LanguageClientOptions, StaticFeature } from "vscode-languageclient/node";

import type { Launch } from "./interpreter.ts";
import { serveModels } from "./models.ts";
import { middleware } from "./setup/edits.ts";
import { experimentalCapabilities, InputRequest, RunNotification, SERVER_COMMANDS, UsageRequest } from "./protocol.ts";
import type { RunParams } from "./protocol.ts";

const START_TIMEOUT_MS = 60_000;
const LAST_WORDS_TIMEOUT_MS = 1_000;

/** The server does not run; the message says why and what to do, in words for the developer. */
export class ServerDown extends Error {}

export interface RunningServer {
  readonly client: LanguageClient;
  readonly version: string;
  stop(): Promise<void>;
}

/** What is heard of the server while it runs. */
export interface Listener {
  /** A run began or ended; so many are at work now, and so much was used today. */
  onRun(runsAtWork: number, usage: string): void;
  /** What the server says of a run. */
  onRunTold(run: RunParams): void;
  /** It ended without being asked to; called at most once. */
  onCrash(down: ServerDown): void;
}

/**
 * A server that has answered `initialize`.
 *
 * Throws `ServerDown` with the last line that the process wrote to stderr.
 */
export async function startServer(launch: Launch, log: LogOutputChannel, listener: Listener): Promise<RunningServer> {
  log.info(`Starting ${launch.path} ${launch.args.join(" ")}`);
  // The opened folder is not the server's working directory: a Python looks there for more than modules.
  const child = spawn(launch.path, launch.args, { cwd: homedir() });
  const lastWords = listenToStderr(child, log);
  await once(child, "spawn").catch((error: unknown) => {
    throw new ServerDown(t("Rolecall's server cannot be started: {0}.", String(error)));
  });
  child.on("error", (error) => log.error(error));

  // Of a server that ends before it has started, the caller of this function is told by the exception below.
  let hasStarted = false;
  const onClosed = async (): Promise<void> => {
    if (hasStarted) {
      const words = await lastWords();
      listener.onCrash(new ServerDown(words ? t("Rolecall's server stopped, saying \"{0}\".", words) : t("Rolecall's server stopped.")));
    }
  };
  const client: LanguageClient = new LanguageClient("rolecall", "Rolecall", () => Promise.resolve(child), {
    ...options(log),
    middleware: middleware(() => client),
    errorHandler: {
      error: () => ({ action: ErrorAction.Continue, handled: true }),
      closed: () => {
        void onClosed();
        // `server.ts` starts it again, and counts the crashes itself.
        return { action: CloseAction.DoNotRestart, handled: true };
      },
    },
  });
  client.registerFeature(FEATURE);
  client.onRequest(InputRequest, async ({ prompt, value }, token) => {
    const text = await window.showInputBox({ prompt, value: value ?? "", ignoreFocusOut: true }, token);
    return { text: text ?? null };
  });
  serveModels(client);
  const runsAtWork = new Set<string>();
  client.onNotification(RunNotification, async (run) => {
    const { runId, state } = run;
    listener.onRunTold(run);
    if (state === "started") {
      runsAtWork.add(runId);
    } else {
      runsAtWork.delete(runId);
    }
    const usage = await client.sendRequest(UsageRequest, {}).catch(() => ({ text: "" }));
    listener.onRun(runsAtWork.size, usage.text);
  });

  // `client.start` waits for the answer without a limit; it fails once the process is gone.
  const deadline = setTimeout(() => child.kill(), START_TIMEOUT_MS);
  try {
    await client.start();
  } catch (error) {
    child.kill();
    throw new ServerDown(`${t("Rolecall's server did not start.")} ${(await lastWords()) || String(error)}`);
  } finally {
    clearTimeout(deadline);
  }
  hasStarted = true;
  return {
    client,
    version: client.initializeResult?.serverInfo?.version ?? "",
    stop: () =>
      client.dispose().catch((error: unknown) => {
        log.warn(`The server is ended by force: ${String(error)}`);
        child.kill();
      }),
  };
}

/** Copies what *child* writes to stderr into the log; the function returned waits for the end and gives the last line. */
function listenToStderr(child: ChildProcessWithoutNullStreams, log: LogOutputChannel): () => Promise<string> {
  let lastLine = "";
  const lines = createInterface(child.stderr);
  lines.on("line", (line) => {
    log.info(line);
    lastLine = line.trim() || lastLine;
  });
  const ended = once(lines, "close");
  return async () => {
    // A process that the server started may hold its stderr open.
    await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, LAST_WORDS_TIMEOUT_MS))]);
    return lastLine;
  };
}

function options(log: LogOutputChannel): LanguageClientOptions {
  const nothing = (): void => undefined;
  return {
    documentSelector: [{ scheme: "file" }],
    initializationOptions: () => workspace.getConfiguration().get("rolecall"),
    // eslint-disable-next-line @typescript-eslint/no-deprecated -- the server takes what is pushed, as from every editor
    synchronize: { configurationSection: "rolecall" },
    outputChannel: log,
    revealOutputChannelOn: RevealOutputChannelOn.Never,
    diagnosticCollectionName: "rolecall",
    // Without a handler the client shows a notice of its own, beside the one about `ServerDown`.
    initializationFailedHandler: () => false,
    stdioOptions: { stdout: nothing, stderr: nothing },
  };
}

/** Announces what this client adds to LSP, and keeps the server's commands for `commands.ts`. */
const FEATURE: StaticFeature = {
  fillClientCapabilities(capabilities) {
    capabilities.experimental = experimentalCapabilities(workspace.isTrusted) as object;
  },
  preInitialize(capabilities) {
    // The language client would register these itself, a second time, and drop them whenever the server is down.
    const provider = capabilities.executeCommandProvider;
    if (provider !== undefined) {
      const commands = provider.commands.filter((command) => !(command in SERVER_COMMANDS));
      capabilities.executeCommandProvider = { ...provider, commands };
    }
  },
  initialize: () => undefined,
  getState: () => ({ kind: "static" }),
  clear: () => undefined,
};
