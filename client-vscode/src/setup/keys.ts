/** Keys of model endpoints: kept in the editor's own secret storage, and told to the server for one address each. */

import { workspace } from "vscode";
import type { Disposable, LogOutputChannel, SecretStorage } from "vscode";

import { ModelKeyRequest } from "../protocol.ts";
import type { Server } from "../server.ts";

export interface Keys extends Disposable {
  /** Keeps *key* for *address*; an empty one is forgotten. */
  keep(address: string, key: string): Promise<void>;
}

export function createKeys(server: Server, secrets: SecretStorage, log: LogOutputChannel): Keys {
  async function tell(address: string): Promise<void> {
    const key = (await secrets.get(nameOf(address))) ?? "";
    const client = await server.ready();
    await client.sendRequest(ModelKeyRequest, { address, key });
  }
  const tellPresent = (): void => {
    const address = plain(workspace.getConfiguration("rolecall.model").get("baseUrl", ""));
    // Never what was told: only that it was not.
    tell(address).catch(() => log.warn("The key of the model's address could not be told to the server."));
  };
  const parts = [
    server.onDidStart(tellPresent),
    workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration("rolecall.model.baseUrl")) {
        tellPresent();
      }
    }),
  ];
  return {
    async keep(address, key) {
      if (key === "") {
        await secrets.delete(nameOf(plain(address)));
      } else {
        await secrets.store(nameOf(plain(address)), key);
      }
      await tell(plain(address));
    },
    dispose: () => parts.forEach((part) => void part.dispose()),
  };
}

/** An address as the server compares it. */
function plain(address: string): string {
  return address.trim().replace(/\/+$/, "");
}

function nameOf(address: string): string {
  return `rolecall.model.key ${address}`;
}
