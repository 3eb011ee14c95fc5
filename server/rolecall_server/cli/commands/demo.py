"""`rolecall demo`: the main job on a copy of a small library, through a real server, hunk by hunk."""

from __future__ import annotations

import argparse
import difflib
import os
import re
import sys
import tarfile
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from rolecall_server.cli.interrupts import STOPPED, end_like_ctrl_c, run_until_interrupted
from rolecall_server.cli.screen import Screen, ask, say, say_prose
from rolecall_server.errors import FileRefused, RolecallError
from rolecall_server.sandbox import (
    Confinement,
    Interpreter,
    NotRun,
    Unconfined,
    choose_confinement,
    find_interpreter,
    run_tests,
    shadow_workspace,
)
from rolecall_server.sandbox.shadow.trees import temporary_prefix
from rolecall_server.settings import read_settings
from rolecall_server.workspace import Workspace

RECORDING = Path(__file__).with_name("demo.jsonl")
"""The conversation of a real model on inflection 0.5.1, replayed where no model is configured."""
MODULE = "inflection/__init__.py"
BRIEF = (
    "Add a function `kebabize(word)` next to `dasherize`: it turns any of CamelCase, under_scored or spaced words "
    "into lower-case words joined by dashes, so that `kebabize('DeviceType')`, `kebabize('device_type')` and "
    "`kebabize('Device Type')` all give 'device-type'. Give it a docstring with examples like its neighbours, "
    "and tests."
)

_HEADLINE = re.compile(r"((?<!\d)\d++ hunks? in [^.]{0,400}+\.) .*")
"""The message that a proposal is there, in two parts: the second is its evidence, which stands above the diff again."""

_STYLES = {"+": "green", "-": "red", "@": "cyan"}


class Editor(Protocol):
    """An editor a program can drive; the server's own headless one is handed in by `__main__`."""

    async def start(self, root: Path, environ: Mapping[str, str], settings: Mapping[str, Any]) -> None: ...
    async def stop(self) -> None: ...
    def open(self, path: Path) -> str: ...
    def save_all(self) -> None: ...
    async def run(self, command: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]: ...
    async def execute(self, command: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]: ...
    async def accept(self, arguments: Mapping[str, Any]) -> None: ...


MakeEditor = Callable[[Callable[[str], None], Callable[[str], None]], Editor]


def run_demo(arguments: argparse.Namespace, make_editor: MakeEditor) -> int:
    """Run the demo on the library in ``arguments.library``; the exit code."""
    end_like_ctrl_c()
    screen = Screen()
    asks = sys.stdin.isatty() and not arguments.yes
    with tempfile.TemporaryDirectory(prefix=f"{temporary_prefix()}demo-") as scratch:
        try:
            return run_until_interrupted(_demo(screen, Path(scratch).resolve(), arguments.library, make_editor, asks))
        except RolecallError as error:
            say(screen, f"{error.code}: {error}", "bold red")
            return 1
        except KeyboardInterrupt:
            say(screen, "\nStopped; the scratch folder is removed.")
            return STOPPED


async def _demo(screen: Screen, scratch: Path, library: Path, make_editor: MakeEditor, asks: bool) -> int:
    root = _unpack(library, scratch)
    # A store of its own: nothing of the demo stays among the developer's runs.
    environ = {**os.environ, "XDG_DATA_HOME": str(scratch / "data")}
    settings, who = _settings()
    screen.rule("Rolecall")
    confinement, walls = await _confinement(screen, root)
    settings["tests"]["confinement"] = walls
    say(screen, f"Repository: a copy of {root.name} in {root}\nModel: {who}\nTests run in: {confinement.name}\n")
    before = _texts(root)

    def show_progress(message: str) -> None:
        say(screen, f"  … {message}", "dim")

    def show_message(message: str) -> None:
        say(screen, _HEADLINE.sub(r"\1", message), "bold")

    editor = make_editor(show_message, _without_repeats(show_progress))
    await editor.start(root, environ, settings)
    try:
        uri = editor.open(root / MODULE)
        screen.rule("1. Generate tests for the current file")
        first = await _propose_and_decide(screen, editor, "rolecall.tests.generate", {"uri": uri}, asks)
        screen.rule(f"2. Implement: {BRIEF.partition(':')[0]}")
        second = await _propose_and_decide(
            screen, editor, "rolecall.brief.implement", {"uri": uri, "brief": BRIEF}, asks
        )
        editor.save_all()
    finally:
        await editor.stop()
    screen.rule("3. What changed on disk")
    exact = _compare(screen, before, _texts(root), [*(first or ()), *(second or ())])
    screen.rule("4. The repository's own tests")
    green = await _run_tests(screen, root, confinement)
    return 0 if exact and green and first is not None and second is not None else 1


def _unpack(library: Path, scratch: Path) -> Path:
    """Unpack *library* below *scratch* and return the root of the copy.

    Raises:
        FileRefused: it is no archive of one.
    """
    try:
        with tarfile.open(library) as archive:
            # With `data`, nothing of the archive lands outside of the folder.
            archive.extractall(scratch, filter="data")
    except (OSError, tarfile.TarError) as error:
        raise FileRefused(f"{library} cannot be unpacked: {error}.", "Name a source distribution (.tar.gz).") from error
    return next(path for path in sorted(scratch.iterdir()) if path.is_dir())


def _settings() -> tuple[dict[str, Any], str]:
    """Return the settings that an editor would send, and a description of who answers: the configured model, else the
    recording.
    """
    # How many faults there is time for differs from machine to machine, and a recording answers what it was asked.
    tests = {"interpreter": sys.executable, "worthSeconds": 0}
    model = read_settings({}, os.environ)[0].model
    if model.replay or model.name or model.base_url:
        return {"tests": tests}, f"the configured one ({model.replay or model.name or model.base_url})"
    return {"tests": tests, "model": {"replay": str(RECORDING)}}, (
        "none is configured, so a recorded conversation with one is replayed. What it proposed is applied, "
        "run and reviewed here and now."
    )


async def _confinement(screen: Screen, root: Path) -> tuple[Confinement, str]:
    """Return the confinement in which the library's tests are run, and the setting for it.

    Where this machine cannot confine them they run all the same, and the screen says so: the library is a known
    one, whose content was checked when it was fetched.
    """
    confinement = await choose_confinement("required", root)
    if not isinstance(confinement, NotRun):
        return confinement, "required"
    say(screen, f"{confinement.reason} For this demo they run without walls. {confinement.next_step}", "yellow")
    return Unconfined(), "off"


def _without_repeats(show: Callable[[str], None]) -> Callable[[str], None]:
    """Return a function that passes a message to *show* unless it differs from the last one only in a count."""
    last = ""

    def show_new(message: str) -> None:
        nonlocal last
        kind = message.partition(" (")[0]
        if kind != last:
            last = kind
            show(message)

    return show_new


async def _propose_and_decide(
    screen: Screen, editor: Editor, command: str, arguments: Mapping[str, Any], asks: bool
) -> list[str] | None:
    """Run a role, show its proposal, accept one hunk and reject another; the lines that were accepted, signed.

    ``None`` where there was no proposal.
    """
    ended = await editor.run(command, arguments)
    proposal_id = ended.get("proposalId")
    if proposal_id is None:
        return None
    shown = await editor.execute("rolecall.proposal.show", {"proposalId": proposal_id})
    for line in str(shown["text"]).splitlines():
        if line.startswith("#"):
            say_prose(screen, line, "italic")
        else:
            say(screen, line, _STYLES.get(line[:1], ""))
    hunks: Sequence[Mapping[str, Any]] = shown["hunks"]
    by_id = {hunk["hunkId"]: hunk for hunk in hunks}
    accepted: list[str] = []
    for hunk, accept in zip(_two_to_decide(hunks), (True, False), strict=False):
        target = {"proposalId": proposal_id, "hunkId": hunk["hunkId"]}
        if accept and _agreed(screen, f"Accept {hunk['hunkId']}, which {hunk['title']}?", asks):
            await editor.accept(target)
            for hunk_id in sorted({hunk["hunkId"], *_needs(by_id, hunk["hunkId"])}):
                accepted += _signed_lines(by_id[hunk_id]["diff"])
            say(screen, f"Accepted {hunk['hunkId']}: it {hunk['title']}.", "bold green")
        elif not accept and _agreed(screen, f"Reject {hunk['hunkId']}, which {hunk['title']}?", asks):
            await editor.execute("rolecall.hunk.reject", target)
            say(screen, f"Rejected {hunk['hunkId']}: it {hunk['title']}.", "bold red")
    return accepted


def _two_to_decide(hunks: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return a hunk to accept and one to reject: the first, and the first other that it does not need."""
    first = hunks[0]
    needed = _needs({hunk["hunkId"]: hunk for hunk in hunks}, first["hunkId"])
    others = [hunk for hunk in hunks[1:] if hunk["hunkId"] not in needed]
    return [first, *others[:1]]


def _needs(by_id: Mapping[str, Mapping[str, Any]], hunk_id: str) -> set[str]:
    """Return the hunks that come along when *hunk_id* is accepted."""
    found: set[str] = set()
    queue = [hunk_id]
    while queue:
        for need in by_id[queue.pop()]["needs"]:
            if need not in found:
                found.add(need)
                queue.append(need)
    return found - {hunk_id}


def _agreed(screen: Screen, question: str, asks: bool) -> bool:
    return not asks or ask(screen, question, "yn", "  y  yes\n  n  no, leave it undecided") == "y"


def _texts(root: Path) -> dict[str, str]:
    files = (path for path in root.rglob("*.py") if path.is_file())
    return {path.relative_to(root).as_posix(): path.read_bytes().decode("utf-8") for path in files}


def _compare(screen: Screen, before: Mapping[str, str], after: Mapping[str, str], accepted: Sequence[str]) -> bool:
    """Print how the files differ now; whether that is the accepted lines, all of them and nothing else."""
    changed: list[str] = []
    for path in sorted(after):
        old, new = before.get(path, "").splitlines(), after[path].splitlines()
        diff = list(difflib.unified_diff(old, new, f"a/{path}", f"b/{path}", lineterm=""))
        for line in diff:
            say(screen, line, _STYLES.get(line[:1], ""))
        changed += _signed_lines(diff[2:])
    exact = sorted(changed) == sorted(accepted)
    verdict = "exactly the accepted lines" if exact else "NOT the accepted lines"
    say(screen, f"{len(changed)} changed lines on disk: {verdict}.", "bold green" if exact else "bold red")
    return exact


def _signed_lines(diff: Sequence[str]) -> list[str]:
    return [line for line in diff if line[:1] in ("+", "-")]


async def _run_tests(screen: Screen, root: Path, confinement: Confinement) -> bool:
    interpreter = find_interpreter(root, sys.executable, os.environ)
    if not isinstance(interpreter, Interpreter):
        say(screen, f"Not run: {interpreter}", "bold red")
        return False
    async with shadow_workspace(Workspace(root), confinement) as shadow:
        if isinstance(shadow, NotRun):
            say(screen, f"Not run: {shadow}", "bold red")
            return False
        run = await run_tests(shadow, interpreter, timeout_s=120)
    good = run.status == "ran" and not run.failed
    say(
        screen,
        run.reason or f"{len(run.passed)} passed, {len(run.failed)} failed.",
        "bold green" if good else "bold red",
    )
    return good
