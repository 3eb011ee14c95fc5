"""Commands about this machine: what works on it, and what may run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rolecall_server.cli.arguments.options import add_command, add_root, add_settings

STRATEGIES = ("quick", "standard", "thorough")
"""Those of `settings.StrategyName`, which takes longer to import than `--help` shall take."""

if TYPE_CHECKING:
    from rolecall_server.cli.arguments.options import Commands


def add_doctor(commands: Commands) -> None:
    """Add `doctor`."""
    doctor = add_command(
        commands,
        "doctor",
        "say which model answers and why, whether tests can run here, and what has to be fixed",
        "doctor",
        "doctor --probe",
    )
    add_root(doctor)
    doctor.add_argument("--probe", action="store_true", help="try what the model can do: a handful of short calls")
    doctor.add_argument("--json", action="store_true", help="print everything as JSON")
    add_settings(doctor)


def add_trust(commands: Commands) -> None:
    """Add `trust`."""
    trust = add_command(
        commands,
        "trust",
        "say that the Python which lies in the repository may run its tests, behind walls",
        "trust",
        "trust --root . --yes",
    )
    add_root(trust)
    trust.add_argument("--yes", action="store_true", help="confirm it without being asked, as it is now")
    add_settings(trust)


def add_bench(commands: Commands) -> None:
    """Add `bench`."""
    bench = add_command(
        commands,
        "bench",
        "measure on tasks of your own what each part of a strategy gains",
        "bench strategies tasks.jsonl --repositories clones --results results.jsonl",
        "bench strategies tasks.jsonl --results results.jsonl --strategy thorough --yes",
    )
    bench.add_argument("what", choices=["strategies"], help="the only thing that is measured so far")
    bench.add_argument("tasks", type=Path, help="JSON lines, one task each; docs/craft.md says what a task has")
    bench.add_argument(
        "--results", type=Path, required=True, metavar="FILE", help="gets a line for each run; what it has is not run"
    )
    bench.add_argument(
        "--repositories", type=Path, default=Path(), metavar="DIR", help="where they lie; else in this folder"
    )
    bench.add_argument("--strategy", choices=STRATEGIES, default="standard", help="else standard")
    bench.add_argument("--yes", action="store_true", help="begin without being asked")
    bench.add_argument("--json", action="store_true", help="print everything as JSON")
    add_settings(bench)


def add_demo(commands: Commands) -> None:
    """Add `demo`."""
    demo = add_command(commands, "demo", "run the main job on a copy of a small library")
    demo.add_argument(
        "--library", type=Path, required=True, metavar="ARCHIVE", help="its source distribution (.tar.gz)"
    )
    demo.add_argument("--yes", action="store_true", help="go through without asking")
