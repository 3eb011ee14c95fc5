/** Both sides of a proposal's files as documents of VS Code: the left one to read, the right one to edit and save. */

import { EventEmitter, FileChangeType, FileSystemError, FileType, Uri, workspace } from "vscode";
import type { Disposable, FileChangeEvent, FileStat, FileSystemProvider } from "vscode";

import { ReviewSaveRequest } from "../protocol.ts";
import type { ReviewFile } from "../protocol.ts";
import type { Server } from "../server.ts";
import type { Changes, Desk } from "./desk.ts";
import { fate, pathAfter } from "./words.ts";

/** As it stands. */
export const BEFORE = "rolecall-before";
/** As it would stand. */
export const AFTER = "rolecall-after";

export interface Address {
  readonly proposalId: string;
  readonly path: string;
}

/** `rolecall-after:/p7/shop/price.py`, `rolecall-after:/p7 (new)/shop/tax.py`: a diff says the folder beside the name. */
export function sideOf(scheme: typeof BEFORE | typeof AFTER, proposalId: string, file: ReviewFile): Uri {
  const said = fate(file) === "" ? "" : ` (${fate(file)})`;
  return Uri.from({ scheme, path: `/${proposalId}${said}/${scheme === BEFORE ? file.path : pathAfter(file)}` });
}

/** What *uri* names; undefined where it is none of ours. */
export function addressOf(uri: Uri): Address | undefined {
  const match = uri.scheme === BEFORE || uri.scheme === AFTER ? /^\/(p\d+)(?: \([^/]*\))?\/(.+)$/s.exec(uri.path) : null;
  return match?.[1] !== undefined && match[2] !== undefined ? { proposalId: match[1], path: match[2] } : undefined;
}

interface Given {
  readonly content: Uint8Array;
  readonly version: string;
  readonly mtime: number;
}

/** Registers both sides until it is disposed. */
export function registerSides(server: Server, desk: Desk): Disposable[] {
  const changed = new EventEmitter<FileChangeEvent[]>();
  const given = new Map<string, Given>();
  let clock = Date.now();

  async function read(uri: Uri): Promise<Given> {
    const address = addressOf(uri);
    if (address === undefined) {
      throw FileSystemError.FileNotFound(uri);
    }
    const sides = await desk.sides(address.proposalId, address.path).catch((error: unknown) => {
      throw FileSystemError.Unavailable(error instanceof Error ? error.message : String(error));
    });
    const content = new TextEncoder().encode((uri.scheme === BEFORE ? sides.left : sides.right) ?? "");
    return keep(uri, content, sides.version);
  }

  /** What is given for *uri* from now on; another text is a later one. */
  function keep(uri: Uri, content: Uint8Array, version: string): Given {
    const last = given.get(uri.toString());
    const isSame = last !== undefined && Buffer.compare(last.content, content) === 0;
    clock += 1;
    const next = { content, version, mtime: isSame ? last.mtime : clock };
    given.set(uri.toString(), next);
    return next;
  }

  async function look(uri: Uri): Promise<FileChangeEvent[]> {
    const before = given.get(uri.toString());
    try {
      const now = await read(uri);
      return before?.mtime === now.mtime ? [] : [{ type: FileChangeType.Changed, uri }];
    } catch {
      return [];
    }
  }

  async function lookAgain(isOther: Changes): Promise<void> {
    const open = workspace.textDocuments.filter(({ uri }) => {
      const address = given.has(uri.toString()) ? addressOf(uri) : undefined;
      return address !== undefined && isOther(address.proposalId, address.path);
    });
    const events = await Promise.all(open.map(({ uri }) => look(uri)));
    if (events.some((some) => some.length > 0)) {
      changed.fire(events.flat());
    }
  }

  async function save(uri: Uri, content: Uint8Array): Promise<void> {
    const address = addressOf(uri);
    const version = given.get(uri.toString())?.version;
    if (address === undefined || version === undefined) {
      throw FileSystemError.NoPermissions(uri);
    }
    const client = await server.ready();
    const text = new TextDecoder().decode(content);
    const saved = await client.sendRequest(ReviewSaveRequest, { ...address, version, text });
    if (saved.problem !== "") {
      throw FileSystemError.NoPermissions(saved.problem);
    }
    desk.forget();
    keep(uri, content, version);
  }

  const refuse = (uri: Uri): never => {
    throw FileSystemError.NoPermissions(uri);
  };
  const provider: FileSystemProvider = {
    onDidChangeFile: changed.event,
    watch: () => ({ dispose: () => undefined }),
    async stat(uri): Promise<FileStat> {
      const { content, mtime } = await read(uri);
      return { type: FileType.File, ctime: 0, mtime, size: content.length };
    },
    readFile: async (uri) => (await read(uri)).content,
    writeFile: save,
    readDirectory: () => [],
    createDirectory: refuse,
    delete: refuse,
    rename: refuse,
  };
  return [
    changed,
    desk.onDidChange((isOther) => void lookAgain(isOther)),
    workspace.registerFileSystemProvider(BEFORE, provider, { isCaseSensitive: true, isReadonly: true }),
    workspace.registerFileSystemProvider(AFTER, provider, { isCaseSensitive: true }),
  ];
}
