"""A language server's first answer to ``workspace/symbol`` in a folder: CPU seconds and memory, as JSON.

python symbols_ready.py FOLDER SYMBOL SERVER [ARGUMENT...]
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import time
from pathlib import Path

import psutil
from lsprotocol import types
from pygls.lsp.client import BaseLanguageClient

PATIENCE_S = 300


async def ready(uri: str, symbol: str, command: list[str]) -> dict[str, float]:
    """Start the server *command* in the folder *uri*, ask for *symbol* until it is found, and measure."""
    client = BaseLanguageClient("anchor", "1")
    client.feature(types.WORKSPACE_CONFIGURATION)(lambda parameters: [None for _ in parameters.items])
    client.feature(types.CLIENT_REGISTER_CAPABILITY)(lambda _: None)
    client.feature(types.WINDOW_WORK_DONE_PROGRESS_CREATE)(lambda _: None)
    start = time.monotonic()
    await client.start_io(*command)
    await client.initialize_async(
        types.InitializeParams(
            types.ClientCapabilities(workspace=types.WorkspaceClientCapabilities(configuration=True)),
            root_uri=uri,
            workspace_folders=[types.WorkspaceFolder(uri, "root")],
        )
    )
    client.initialized(types.InitializedParams())
    while not await client.workspace_symbol_async(types.WorkspaceSymbolParams(symbol)):
        if time.monotonic() - start > PATIENCE_S:
            raise SystemExit(f"{command[0]} does not find {symbol!r}")
        await asyncio.sleep(0.05)
    wall_s = time.monotonic() - start
    family = [psutil.Process().children()[0], *psutil.Process().children()[0].children(recursive=True)]
    cpu_s = sum(process.cpu_times().user + process.cpu_times().system for process in family)
    memory_mb = sum(process.memory_info().rss for process in family) / 1e6
    client.exit(None)
    with contextlib.suppress(Exception):
        await client.stop()
    return {"cpu_s": cpu_s, "wall_s": wall_s, "memory_mb": memory_mb}


def main() -> None:
    print(json.dumps(asyncio.run(ready(Path(sys.argv[1]).resolve().as_uri(), sys.argv[2], sys.argv[3:]))), flush=True)


if __name__ == "__main__":
    main()
