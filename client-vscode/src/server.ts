/** The language server's life: started, restarted after a crash or on request, and what to say when it is down. */

import { t } from "@vscode/l10n";
import { commands, EventEmitter, window, workspace } from "vscode";
import type { Event, LogOutputChannel } from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";

import { ServerDown, startServer } from "./client.ts";
import type { RunningServer } from "./client.ts";
import { findInterpreter, launchServer } from "./interpreter.ts";
import type { Launch } from "./interpreter.ts";
import { StatusRequest } from "./protocol.ts";
import type { RunParams } from "./protocol.ts";
import { asNotice } from "./setup/plainText.ts";
import type { Status } from "./status.ts";

const CRASHES_ALLOWED = 4;
const CRASH_WINDOW_MS = 3 * 60_000;

export interface Server {
  /** The running server's client, after waiting for a start in progress. Rejects with `ServerDown`. */
  ready(): Promise<LanguageClient>;
  /** Starts the server by the present settings, stopping it first if it runs. Never rejects: the developer is told. */
  restart(): Promise<void>;
  stop(): Promise<void>;
  /** A server answers from now on; each is told of with a client of its own. */
  readonly onDidStart: Event<LanguageClient>;
  /** What a server says of a run. */
  readonly onRun: Event<RunParams>;
}

export function createServer(extensionPath: string, log: LogOutputChannel, status: Status): Server {
  let running: Promise<RunningServer> = Promise.reject(new ServerDown(t("Rolecall's server was not started.")));
  // Perhaps nobody ever waits for it, and a rejection without a handler is reported as an error.
  running.catch(() => undefined);
  let crashTimes: number[] = [];
  const started = new EventEmitter<LanguageClient>();
  const runs = new EventEmitter<RunParams>();

  function become(next: Promise<RunningServer>): void {
    running = next;
    next.catch((error: unknown) => {
      status.show({ kind: "down" });
      void explain(error instanceof Error ? error.message : String(error), log);
    });
  }

  async function start(): Promise<RunningServer> {
    status.show({ kind: "starting" });
    const launch = await chooseLaunch(extensionPath);
    let ready = "";
    let isWorking = false;
    const server = await startServer(launch, log, {
      onRun: (runsAtWork, usage) => {
        isWorking = runsAtWork > 0;
        status.show(isWorking ? { kind: "working" } : { kind: "ready", detail: usage || ready });
      },
      onRunTold: (run) => runs.fire(run),
      onCrash,
    });
    started.fire(server.client);
    ready = t("{0} on {1}", server.version, launch.path);
    status.show({ kind: "ready", detail: ready });
    void server.client.sendRequest(StatusRequest, {}).then(({ model }) => {
      ready = `${ready}, ${model.label ?? t("without a model")}`;
      if (!isWorking) {
        status.show({ kind: "ready", detail: ready });
      }
    }, (error: unknown) => log.warn(`rolecall/status: ${String(error)}`));
    return server;
  }

  function onCrash(down: ServerDown): void {
    log.error(down.message);
    const now = Date.now();
    crashTimes = [...crashTimes.filter((time) => now - time < CRASH_WINDOW_MS), now];
    const givesUp = new ServerDown(`${down.message} ${t("After {0} times it is not started again.", crashTimes.length)}`);
    become(crashTimes.length <= CRASHES_ALLOWED ? start() : Promise.reject(givesUp));
  }

  const stop = (): Promise<void> =>
    running.then(
      (server) => server.stop(),
      () => undefined,
    );

  return {
    ready: async () => (await running).client,
    async restart() {
      crashTimes = [];
      // At once and not after the stop: whoever asks for the server meanwhile waits for the new one.
      become(stop().then(start));
      await running.catch(() => undefined);
    },
    stop,
    onDidStart: started.event,
    onRun: runs.event,
  };
}

/** Tells the developer why the server is down, with the places where it can be put right. */
export async function explain(message: string, log: LogOutputChannel): Promise<void> {
  log.error(message);
  const choice = await window.showErrorMessage(asNotice(message), t("Open Settings"), t("Show Logs"));
  if (choice === t("Open Settings")) {
    await commands.executeCommand("workbench.action.openSettings", "rolecall.server");
  } else if (choice === t("Show Logs")) {
    log.show();
  }
}

async function chooseLaunch(extensionPath: string): Promise<Launch> {
  const settings = workspace.getConfiguration("rolecall.server");
  const interpreter = await findInterpreter(settings.get("interpreter", ""));
  if ("problem" in interpreter) {
    throw new ServerDown(interpreter.problem);
  }
  return launchServer(interpreter, settings.get("importStrategy", "useBundled"), extensionPath);
}
