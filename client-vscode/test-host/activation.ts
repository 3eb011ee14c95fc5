import assert from "node:assert/strict";

import { commands } from "vscode";

import { extension, open, started, until } from "./host.ts";

interface Manifest {
  readonly contributes: {
    readonly commands: readonly { readonly command: string }[];
    readonly keybindings: readonly { readonly command: string; readonly key: string; readonly when?: string }[];
  };
}

const { contributes } = extension().packageJSON as Manifest;

describe("activation", () => {
  it("begins with a Python file, and the server answers", async () => {
    await open("shop/price.py");
    await until(() => extension().isActive);
    const { server } = await started();
    assert.equal((await server.ready()).initializeResult?.serverInfo?.name, "rolecall");
  });

  it("has each command that the manifest offers", async () => {
    await started();
    const known = new Set(await commands.getCommands(true));
    assert.deepEqual(contributes.commands.map(({ command }) => command).filter((command) => !known.has(command)), []);
  });

  it("has a command for each key, and no key twice for one place", async () => {
    const known = new Set(await commands.getCommands(true));
    assert.deepEqual(contributes.keybindings.filter(({ command }) => !known.has(command)), []);
    const places = contributes.keybindings.map(({ key, when }) => `${key} ${when ?? ""}`);
    assert.deepEqual(places.filter((place, at) => places.indexOf(place) !== at), []);
  });
});
