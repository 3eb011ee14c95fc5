"""A stage on which the calls of a module, written as a string, are made."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from rolecall_server.craft.characterization import Stage
from rolecall_server.craft.characterization.inputs.domains import IMPORTS
from rolecall_server.sandbox import Interpreter, NotRun, choose_confinement, shadow_workspace
from rolecall_server.workspace import Workspace
from support.patience import PATIENCE_S

StageOf = Callable[..., Awaitable[Stage]]


@pytest.fixture
async def stage_of(tmp_path: Path) -> AsyncIterator[StageOf]:
    """Puts the text of a module, and other files, into a workspace and opens a shadow of it."""
    async with AsyncExitStack() as stack:

        async def open_stage(text: str, **others: str) -> Stage:
            for name, content in {"thing": text, **others}.items():
                (tmp_path / f"{name}.py").write_text(textwrap.dedent(content), "utf-8")
            workspace = Workspace(tmp_path.resolve())
            confinement = await choose_confinement("required", workspace.root)
            shadow = await stack.enter_async_context(shadow_workspace(workspace, confinement))
            assert not isinstance(shadow, NotRun)
            return Stage(shadow, Interpreter(Path(sys.executable), "test"), "thing", "thing.py", IMPORTS, PATIENCE_S)

        yield open_stage
