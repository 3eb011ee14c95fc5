/** What the tests in the extension host share: the extension as it was activated here, and waiting. */

import { extensions, Uri, window, workspace } from "vscode";
import type { TextDocument } from "vscode";

import type { Parts } from "../src/extension.ts";

const LOOK_MS = 50;

/** The extension, active, with its server running. */
export async function started(): Promise<Parts> {
  const parts = (await extension().activate()) as Parts;
  await parts.server.ready();
  return parts;
}

export function extension(): NonNullable<ReturnType<typeof extensions.getExtension>> {
  const found = extensions.getExtension("rolecall.rolecall");
  if (found === undefined) {
    throw new Error("The extension is not here.");
  }
  return found;
}

/** Waits until *look* finds something; mocha's timeout ends it. */
export async function until<Found>(look: () => Found | undefined | false | Thenable<Found | undefined | false>): Promise<Found> {
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== false) {
      return found;
    }
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}

/** A file of the opened folder. */
export function fileIn(path: string): Uri {
  const [folder] = workspace.workspaceFolders ?? [];
  if (folder === undefined) {
    throw new Error("No folder is open.");
  }
  return Uri.joinPath(folder.uri, path);
}

export async function open(path: string): Promise<TextDocument> {
  const document = await workspace.openTextDocument(fileIn(path));
  await window.showTextDocument(document);
  return document;
}

export async function onDisk(path: string): Promise<string> {
  return new TextDecoder().decode(await workspace.fs.readFile(fileIn(path)));
}
