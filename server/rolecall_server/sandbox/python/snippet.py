"""A few lines of Python, run in the shadow as a test of the workspace would be: to see what its code does."""

from __future__ import annotations

import asyncio
import shutil
from dataclasses import replace
from pathlib import Path

from rolecall_server.sandbox.python.interpreter import Capabilities, Interpreter, probe
from rolecall_server.sandbox.python.pytest_command import python_environment
from rolecall_server.sandbox.python.pytest_report import path_neutraliser
from rolecall_server.sandbox.results import NotRun
from rolecall_server.sandbox.run_folder import RunFolder, run_folder, run_in_shadow
from rolecall_server.sandbox.shadow.shadow import Shadow
from rolecall_server.sandbox.walls.confinement import Command
from rolecall_server.sandbox.walls.process import ProcessEnd

_CHILD = Path(__file__).parents[1] / "child" / "rolecall_snippet.py"


async def run_snippet(shadow: Shadow, interpreter: Interpreter, code: str, *, timeout_s: float) -> ProcessEnd | NotRun:
    """Return how *code* ends, started at the root of *shadow*, with what it printed.

    The value of an expression at its end is printed, as Python does at its prompt.
    """
    capabilities = await probe(shadow, interpreter)
    if isinstance(capabilities, NotRun):
        return capabilities
    try:
        async with run_folder(shadow) as folder:
            await asyncio.to_thread(_furnish, folder, code)
            command = _command(shadow, capabilities, folder)
            readable = capabilities.places.shown
            end = await run_in_shadow(shadow, folder, command, readable, timeout_s=timeout_s)
            was_started = folder.report.stat().st_size > 0
            neutral = path_neutraliser(shadow, folder)
    except OSError as error:
        return NotRun(f"The snippet cannot be started in the shadow: {error.strerror}.")
    # A snippet may print the very words of a refusal, but only after it was started.
    if not was_started and (refusal := shadow.confinement.refusal(end.output)):
        return NotRun(f"The snippet could not be confined: {refusal}.")
    return replace(end, output=neutral(end.output))


def _furnish(folder: RunFolder, code: str) -> None:
    shutil.copyfile(_CHILD, folder.plugin / _CHILD.name)
    (folder.plugin / "snippet.py").write_text(code, "utf-8", "surrogatepass", "\n")


def _command(shadow: Shadow, capabilities: Capabilities, folder: RunFolder) -> Command:
    """Return what starts the child as a test would be started; unbuffered, so that errors stand last."""
    program = (str(capabilities.program), "-B", "-u", str(folder.plugin / _CHILD.name))
    told = (str(folder.plugin / "snippet.py"), str(folder.report))
    return Command((*program, *told), python_environment(shadow, capabilities, folder))
