"""Opening a shadow of the workspace, and leaving nothing of it behind."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path

from rolecall_server.sandbox.results import NotRun
from rolecall_server.sandbox.shadow.copied import copy_workspace
from rolecall_server.sandbox.shadow.copying import CopyLimits
from rolecall_server.sandbox.shadow.kept_copy import take_copy
from rolecall_server.sandbox.shadow.overlaid import lay_over_workspace
from rolecall_server.sandbox.shadow.shadow import Shadow
from rolecall_server.sandbox.shadow.trees import remove_tree, temporary_prefix
from rolecall_server.sandbox.walls.completion import complete
from rolecall_server.sandbox.walls.confinement import Confinement
from rolecall_server.workspace import Workspace


@asynccontextmanager
async def shadow_workspace(
    workspace: Workspace,
    confinement: Confinement | NotRun,
    *,
    limits: CopyLimits | None = None,
    parent: Path | None = None,
    copies: Path | None = None,
    without: Sequence[str] = (),
) -> AsyncGenerator[Shadow | NotRun]:
    """A shadow of *workspace*, for as long as the context lasts, in which code runs by *confinement*.

    *parent* is the folder for temporary files, the system's by default. Where the confinement needs a copy, *limits*
    says what is too large to be copied, and *copies* is the folder where the copy is kept for the next time; without
    it, or while another run has that copy, a new one is made. Files and folders *without* which code shall run are not
    there for it. The value is `NotRun` when there is no confinement, or
    no shadow.
    """
    if isinstance(confinement, NotRun):
        yield confinement
        return
    base = make_base(parent)
    try:
        if confinement.overlays:
            # To its end: a thread that nobody waits for would make folders again while they are removed.
            yield await complete(asyncio.to_thread(lay_over_workspace, base, workspace, confinement, without))
        else:
            with take_copy(copies, workspace.root) if copies else nullcontext() as kept:
                yield await copy_workspace(
                    base, workspace, confinement, limits or CopyLimits(), kept=kept, without=without
                )
    finally:
        await complete(asyncio.to_thread(remove_tree, base))


def make_base(parent: Path | None = None) -> Path:
    """Return a new temporary folder that tells by its name whose it is."""
    return Path(tempfile.mkdtemp(prefix=temporary_prefix(), dir=parent)).resolve()
