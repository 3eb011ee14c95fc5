/** The runs there were and are, as the server has them: asked anew when something goes on, one question at a time. */

import { EventEmitter } from "vscode";
import type { Disposable, Event, LogOutputChannel } from "vscode";

import { RunListRequest, RunTreeRequest } from "../protocol.ts";
import type { RunInShort, RunTree } from "../protocol.ts";
import type { Server } from "../server.ts";

export interface Records extends Disposable {
  list(): readonly RunInShort[];
  tree(runId: string): Promise<RunTree>;
  readonly onDidChange: Event<void>;
}

export function createRecords(server: Server, moved: Event<void>, log: LogOutputChannel): Records {
  const changed = new EventEmitter<void>();
  const trees = new Map<string, { told: string; tree: Promise<RunTree> }>();
  let runs: readonly RunInShort[] = [];
  let asking = false;
  let isStale = false;

  async function ask(): Promise<void> {
    if (asking) {
      isStale = true;
      return;
    }
    asking = true;
    try {
      const client = await server.ready();
      do {
        isStale = false;
        ({ runs } = await client.sendRequest(RunListRequest, {}));
        changed.fire();
        // eslint-disable-next-line @typescript-eslint/no-unnecessary-condition -- set while the answer was awaited
      } while (isStale);
    } catch (error) {
      log.debug(`rolecall/run/list: ${String(error)}`);
    } finally {
      asking = false;
    }
  }

  const listening = [moved(() => void ask()), server.onDidStart(() => void ask())];
  return {
    list: () => runs,
    onDidChange: changed.event,
    tree(runId) {
      const run = runs.find((one) => one.runId === runId);
      const told = JSON.stringify(run);
      const known = trees.get(runId);
      // Below a run that is at work something may happen that the list does not tell.
      if (known?.told === told && run?.endedAt !== null) {
        return known.tree;
      }
      const tree = server.ready().then((client) => client.sendRequest(RunTreeRequest, { runId }));
      trees.set(runId, { told, tree });
      tree.catch(() => trees.delete(runId));
      return tree;
    },
    dispose() {
      listening.forEach((one) => void one.dispose());
      changed.dispose();
    },
  };
}
