"""The choice of the Python that runs the workspace's tests, and what that Python has."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import sys
import tempfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rolecall_server.sandbox.python.environments import environments_of
from rolecall_server.sandbox.python.places import PythonPlaces, places_of
from rolecall_server.sandbox.results import NotRun
from rolecall_server.sandbox.run_folder import RunFolder, clean_environment, run_folder, run_in_shadow
from rolecall_server.sandbox.shadow.shadow import Shadow
from rolecall_server.sandbox.shadow.trees import temporary_prefix
from rolecall_server.sandbox.walls.confinement import Command, Unconfined
from rolecall_server.sandbox.walls.process import run_process
from rolecall_server.sandbox.walls.programs import is_program, program_on_path, repository_of

SETTING = "rolecall.tests.interpreter"

_PROBE_DEADLINE_S = 30.0
_ANSWER = "rolecall-probe:"
_ANSWER_BYTES = 1 << 20
_MOST_SHOWN = 200
"""Characters of the last line of an interpreter that does not answer."""
_CHILD = Path(__file__).parents[1] / "child"
_REPORTING = (
    "rolecall_start",
    "rolecall_session",
    "rolecall_trace",
    "rolecall_watch",
    "rolecall_report",
    "rolecall_unittest",
    "rolecall_in_place",
    "rolecall_mutation",
)
"""The modules that are handed to a run."""
_ON_WINDOWS = sys.platform == "win32"
_IN_ENVIRONMENT = ("Scripts/python.exe", "python.exe") if _ON_WINDOWS else ("bin/python", "bin/python3")
_ON_PATH = ("python.exe",) if _ON_WINDOWS else ("python3", "python")
_CHOOSE = f"Set {SETTING} to the Python that runs your tests."


@dataclass(frozen=True)
class Interpreter:
    """A Python, and how it was found."""

    path: Path
    """Absolute; a virtual environment's link is kept, because the environment is found by it."""
    source: str
    """The setting, folder or variable that named it."""


@dataclass(frozen=True)
class Capabilities:
    """The facts that an interpreter told about itself."""

    program: Path
    """The program itself, also where it was found as a script that looks it up, as pyenv and asdf have them.

    Those scripts need more of the system than a run is shown.
    """
    version: tuple[int, int, int]
    modules: frozenset[str]
    """The modules that it can import, of pytest, coverage and the plugins that matter to a run."""
    tools: tuple[str, ...]
    """The tools that it has to write tests with: pytest and what extends it, each with its version."""
    search_path: tuple[Path, ...]
    """Its ``sys.path``, as far as it may read that."""
    places: PythonPlaces
    """The folders that it may read, and those that it names and may not read."""
    user_base: Path | None
    """Where packages installed with ``--user`` lie, if it uses them."""
    compiled: Mapping[str, bytes] = field(repr=False)
    """The modules that are handed to a run, by name, as this interpreter has compiled them: ``.pyc`` files."""


def find_interpreter(root: Path, setting: str, environ: Mapping[str, str]) -> Interpreter | NotRun:
    """Return the Python for the workspace at *root*.

    In this order: *setting* (a program, an environment's folder, or a name on the PATH), an environment in *root*,
    that which uv, the shell, poetry, conda or pyenv name, ``python3`` or ``python`` on the PATH. What is found through
    the PATH lies outside *root*. A setting or an environment that exists and does not work is said, not passed over.
    """
    if setting:
        return _from_setting(root, setting, environ)
    # The first one counts also where it does not work, which is said then.
    for folder, source in environments_of(root, environ):
        return _from_environment(folder, source)
    for name in _ON_PATH:
        if (found := program_on_path(name, root, environ)) is not None:
            return Interpreter(found, "PATH")
    return NotRun("No Python was found for this workspace.", f"Create a virtual environment in .venv. {_CHOOSE}")


async def probe(shadow: Shadow, interpreter: Interpreter) -> Capabilities | NotRun:
    """Return what *interpreter* has; asked once, and again when it or its packages have changed.

    It is asked in *shadow*, behind the walls that its tests will have.
    """
    key = (interpreter.path, shadow.original, shadow.confinement.name)
    known = _known.get(key)
    if known is not None and _changes(interpreter.path, known[1]) == known[0]:
        return known[1]
    answer = await _ask(shadow, interpreter)
    if isinstance(answer, Capabilities):
        _known[key] = _changes(interpreter.path, answer), answer
    return answer


_known: dict[tuple[Path, Path, str], tuple[tuple[int, ...], Capabilities]] = {}


def _changes(path: Path, capabilities: Capabilities) -> tuple[int, ...]:
    """Return the times at which the program and the folders of its packages changed last."""
    return tuple(_modified_ns(location) for location in (path, *capabilities.search_path))


def _modified_ns(location: Path) -> int:
    try:
        return location.stat().st_mtime_ns
    except OSError:
        return 0


def _from_setting(root: Path, setting: str, environ: Mapping[str, str]) -> Interpreter | NotRun:
    path = Path(setting).expanduser()
    is_name = path.name == setting
    named = program_on_path(setting, root, environ) if is_name else Path(os.path.normpath(root / path))
    if named is not None and named.is_dir():
        return _from_environment(named, SETTING)
    if named is None or not is_program(named):
        return NotRun(f"{setting}, which {SETTING} names, is no program.", _CHOOSE)
    return Interpreter(named, SETTING)


def _from_environment(folder: Path, source: str) -> Interpreter | NotRun:
    for name in _IN_ENVIRONMENT:
        if is_program(folder / name):
            return Interpreter(folder / name, source)
    return NotRun(f"The environment {folder} has no working Python.", f"Create it anew. {_CHOOSE}")


_QUESTIONS = """
import sys
sys.path[:] = [entry for entry in sys.path if entry]  # nothing of the folder it is started in is imported by asking
import base64, importlib.util, json, marshal, os, site, zlib
try:
    from importlib.metadata import distributions
except ImportError:
    distributions = list
def is_tool(found):
    return found.metadata["Name"] == "pytest" or any(entry.group == "pytest11" for entry in found.entry_points)
def compiled(location):
    with open(location, "rb") as source:
        code = compile(source.read(), os.path.basename(location), "exec", dont_inherit=True)
    # A file that says that it is to be believed without a look at its source: PEP 552.
    whole = importlib.util.MAGIC_NUMBER + b"\\1\\0\\0\\0" + bytes(8) + marshal.dumps(code)
    return base64.b64encode(zlib.compress(whole)).decode()
wanted = ("pytest", "coverage", "pytest_cov", "xdist", "pytest_randomly")
print(MARK + json.dumps({
    "version": list(sys.version_info[:3]),
    "modules": [name for name in wanted if importlib.util.find_spec(name)],
    "tools": [f"{found.metadata['Name']} {found.version}" for found in distributions() if is_tool(found)],
    "search_path": sys.path,
    "user_base": site.getuserbase() if site.ENABLE_USER_SITE else None,
    "compiled": {os.path.basename(location)[:-3]: compiled(location) for location in sys.argv[1:]},
}))
"""


async def _ask(shadow: Shadow, interpreter: Interpreter) -> Capabilities | NotRun:
    program = await _program_of(shadow, interpreter)
    if isinstance(program, NotRun):
        return program
    places = await asyncio.to_thread(places_of, program, shadow.original)
    try:
        async with run_folder(shadow) as folder:
            command = _question(program, folder)
            readable = (*places.shown, _CHILD)
            end = await run_in_shadow(
                shadow, folder, command, readable, timeout_s=_PROBE_DEADLINE_S, output_bytes=_ANSWER_BYTES
            )
    except OSError as error:
        return NotRun(f"{interpreter.path} cannot be started: {error.strerror}.", _CHOOSE)
    if end.timed_out:
        return NotRun(f"{interpreter.path} did not answer in {_PROBE_DEADLINE_S:.0f} s.", _CHOOSE)
    answer = next((line for line in end.output.splitlines() if line.startswith(_ANSWER)), "")
    try:
        return _read_answer(json.loads(answer.removeprefix(_ANSWER)), program, places, shadow)
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError, zlib.error):
        last = (end.output.strip().splitlines() or [f"exit code {end.exit_code}"])[-1]
        return NotRun(f"{interpreter.path} does not work: {last[:_MOST_SHOWN]}", _CHOOSE)


def _question(program: Path, folder: RunFolder) -> Command:
    python = (str(program), "-B", "-c", _QUESTIONS.replace("MARK", repr(_ANSWER)), *_reporting())
    # By the home directory `site` works out where the user's own packages lie; nothing of it is shown for that.
    environment = clean_environment(folder, [program.parent]) | {"HOME": str(Path.home())}
    return Command(python, environment)


async def _program_of(shadow: Shadow, interpreter: Interpreter) -> Path | NotRun:
    """Return what is to be started: of a script that looks a Python up, as pyenv and asdf have them, that Python.

    Such a script needs more of the system than is shown behind walls. It is started without them only where it lies
    outside of the workspace and its repository, as a program that the developer installed, and has Python read nothing
    but its own.
    """
    # The links of its folder are followed, its own is not: a virtual environment is found by it.
    path = interpreter.path.parent.resolve() / interpreter.path.name
    strangers = repository_of(shadow.original)
    if path.is_relative_to(strangers) or path.resolve().is_relative_to(strangers) or not _is_script(path):
        return path
    with tempfile.TemporaryDirectory(prefix=temporary_prefix()) as empty:
        try:
            end = await run_process(
                [str(path), "-I", "-S", "-c", f"import sys; print({_ANSWER!r} + sys.executable)"],
                cwd=Path(empty),
                environment={"HOME": str(Path.home()), "LANG": "C.UTF-8"},
                timeout_s=_PROBE_DEADLINE_S,
            )
        except OSError as error:
            return NotRun(f"{path} cannot be started: {error.strerror}.", _CHOOSE)
    found = next((line for line in end.output.splitlines() if line.startswith(_ANSWER)), "").removeprefix(_ANSWER)
    if Path(found).is_absolute() and is_program(Path(found)):
        return Path(found)
    last = (end.output.strip().splitlines() or [f"exit code {end.exit_code}"])[-1]
    return NotRun(f"{path} does not work: {last}", _CHOOSE)


def _is_script(program: Path) -> bool:
    try:
        with program.open("rb") as text:
            return text.read(2) == b"#!"
    except OSError:  # what may only be started is no script
        return False


def _read_answer(said: dict[str, Any], program: Path, places: PythonPlaces, shadow: Shadow) -> Capabilities:
    """Return what *program* said of itself; of the folders it names, those that it may read."""
    major, minor, micro = map(int, said["version"])
    user_base = Path(said["user_base"]) if said["user_base"] else None
    entries = [Path(entry) for entry in said["search_path"] if "\0" not in entry]
    return Capabilities(
        program=program,
        version=(major, minor, micro),
        modules=frozenset(map(str, said["modules"])),
        tools=tuple(sorted(set(map(str, said["tools"])))),
        search_path=tuple(entry for entry in entries if _may_read(entry, places, shadow)),
        places=places if not isinstance(shadow.confinement, Unconfined) else replace(places, left_out=()),
        user_base=user_base if user_base == Path.home() / ".local" else None,  # only that one is shown behind walls
        compiled={name: zlib.decompress(base64.b64decode(said["compiled"][name])) for name in _REPORTING},
    )


def _may_read(entry: Path, places: PythonPlaces, shadow: Shadow) -> bool:
    """Return whether *entry* of a search path is the workspace's, or of what is shown; without walls all is."""
    if isinstance(shadow.confinement, Unconfined):
        return True
    return entry.is_absolute() and (entry.resolve().is_relative_to(shadow.original) or places.hold(entry))


def _reporting() -> list[str]:
    return [str(_CHILD / f"{name}.py") for name in _REPORTING]
