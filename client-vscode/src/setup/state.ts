/** What the server says of itself, kept for those who show it: what is at work, what waits, which model answers. */

import { commands, EventEmitter, window } from "vscode";
import type { Disposable, Event, LogOutputChannel, TextEditor } from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";

import { ActivityNotification, ActivityRequest, StatusNotification, StatusRequest } from "../protocol.ts";
import type { Activity, StatusResult } from "../protocol.ts";
import type { Server } from "../server.ts";
import type { Walkthrough } from "./walkthrough.ts";

export type Model = StatusResult["model"];

export interface State extends Disposable {
  /** Undefined while no server runs. */
  readonly activity: Activity | undefined;
  readonly model: Model | undefined;
  readonly onDidChange: Event<void>;
  /** The model, asked anew. */
  askModel(): Promise<Model | undefined>;
}

export function createState(server: Server, log: LogOutputChannel, done: Walkthrough["done"]): State {
  const changed = new EventEmitter<void>();
  let activity: Activity | undefined;
  let model: Model | undefined;
  let turn = 0;

  async function askActivity(client: LanguageClient): Promise<void> {
    turn += 1;
    const mine = turn;
    try {
      const answer = await client.sendRequest(ActivityRequest, {});
      if (mine === turn) {
        if (answer.waiting.hunks < (activity?.waiting.hunks ?? 0)) {
          done("review");
        }
        activity = answer;
        tellContext("rolecall.waits", answer.waiting.hunks > 0);
        tellContext("rolecall.works", answer.runs.length > 0);
        tellContext("rolecall.stopped", answer.stopped.length > 0);
        changed.fire();
      }
    } catch (error) {
      log.debug(`rolecall/activity: ${String(error)}`);
    }
  }

  async function askModel(client: LanguageClient): Promise<Model | undefined> {
    try {
      ({ model } = await client.sendRequest(StatusRequest, {}));
      if (model.label !== undefined) {
        done("model");
      }
      changed.fire();
    } catch (error) {
      log.debug(`rolecall/status: ${String(error)}`);
    }
    return model;
  }

  const started = server.onDidStart((client) => {
    client.onNotification(ActivityNotification, () => askActivity(client));
    client.onNotification(StatusNotification, () => void askModel(client));
    void askActivity(client);
    void askModel(client);
  });
  const look = (editor: TextEditor | undefined): void => (editor?.document.languageId === "python" ? done("open") : undefined);
  const opened = window.onDidChangeActiveTextEditor(look);
  look(window.activeTextEditor);
  return {
    get activity() {
      return activity;
    },
    get model() {
      return model;
    },
    onDidChange: changed.event,
    askModel: async () => askModel(await server.ready()),
    dispose() {
      started.dispose();
      opened.dispose();
      changed.dispose();
    },
  };
}

function tellContext(key: string, value: boolean): void {
  void commands.executeCommand("setContext", key, value);
}
