"""Tests written with a model against those that the same model writes when it is asked once, plainly.

    python benchmarks/studies/model_tests.py worth ENVIRONMENT ROOT MODULE... [--no-mutants]
    python benchmarks/studies/model_tests.py plant ENVIRONMENT BUGS

ENVIRONMENT is a virtual environment as `benchmarks/probing.txt` names it, with what the modules need. ROOT is a
repository and each MODULE a file in it, as `src/semver/version.py`. The model is the one that ROLECALL_MODEL and
ROLECALL_BASE_URL name. Every run works on a copy of ROOT without its tests.

`worth` prints a line for each module and each way: mutants that cosmic-ray put into the module and the tests killed,
tokens, lines of test that are not blank, tests that pass and that fail. Failing tests are left aside for the mutants.

`plant` reads BUGS, a JSON list of {"root", "path", "old", "new", "symbol"}, puts each bug into a copy and asks for
tests of the file. It says whether a finding names the symbol, and which of the proposed tests hold the bug for right:
those that fail when the bug is taken out again.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as ET

from rich.console import Console
from rich.table import Table

from rolecall_analysis import Index
from rolecall_server.cli.deciding.deciding import carry_out_decisions
from rolecall_server.cli.screen import wide_screen
from rolecall_server.errors import RolecallError
from rolecall_server.model import (
    NO_WISHES,
    ChatMessage,
    Chosen,
    ModelClient,
    Relay,
    Reply,
    Wishes,
    estimate_tokens,
    named_model,
)
from rolecall_server.review.acceptance import with_needs
from rolecall_server.review.proposals.evidence import Evidence
from rolecall_server.review.proposals.proposal_store import load_proposal
from rolecall_server.settings import read_settings
from rolecall_server.store import open_store
from rolecall_server.team.engine.scheduler import carry_out_run
from rolecall_server.team.plan.planning import begin_run
from rolecall_server.team.request import Repository, RoleName, RunRequest
from rolecall_server.team.room import Developer
from rolecall_server.workspace import Workspace

PATIENT = {"model": {"timeoutSeconds": 3600}}
"""A model that thinks may take long."""
PLAIN = """\
Write pytest tests for the file {path}, which is imported as `{module}`. Answer with the whole test file in one fenced
block of Python.

```python
{text}
```
"""
_BLOCK = re.compile(r"^```\w*\n(.*?)^```", re.MULTILINE | re.DOTALL)
_TESTS = ("tests", "test", "testing")


@dataclass
class Counted(Relay):
    """A model, and the tokens it took: as its endpoint counts them, or estimated alike for all."""

    client: ModelClient
    tokens: int = 0
    n_calls: int = 0

    async def complete(self, messages: Sequence[ChatMessage], wishes: Wishes = NO_WISHES) -> Reply:
        """The reply, counted."""
        reply = await self.client.complete(messages, wishes)
        sent = reply.prompt_tokens
        received = reply.completion_tokens
        self.tokens += sum(estimate_tokens(each.text) for each in messages) if sent is None else sent
        self.tokens += estimate_tokens(reply.text) if received is None else received
        self.n_calls += 1
        return reply


@dataclass(frozen=True)
class Written:
    """Test files in a copy of a repository, and what they took."""

    root: Path
    tests: tuple[str, ...]
    tokens: int
    n_calls: int
    evidence: Evidence | None = None
    said: str = ""
    """The reason why nothing was written, if so."""


@dataclass(frozen=True)
class Results:
    """The end of some tests."""

    passed: tuple[str, ...]
    failed: tuple[str, ...]
    """Node ids, or the file where it could not be read."""


def main() -> None:
    """Measure, and print a table."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = arguments.add_subparsers(dest="command", required=True)
    worth, plant = commands.add_parser("worth"), commands.add_parser("plant")
    for each in (worth, plant):
        each.add_argument("environment", type=Path)
    worth.add_argument("root", type=Path)
    worth.add_argument("modules", nargs="+")
    worth.add_argument("--no-mutants", action="store_true", help="leave the mutants out, which take minutes")
    plant.add_argument("bugs", type=Path)
    given = arguments.parse_args()
    environment = given.environment.absolute()
    with tempfile.TemporaryDirectory(prefix="rolecall-bench-") as scratch:
        if given.command == "worth":
            print_worth(Path(scratch), environment, given.root, given.modules, mutants=not given.no_mutants)
        else:
            print_findings(Path(scratch), environment, json.loads(given.bugs.read_text()))


def print_worth(scratch: Path, environment: Path, root: Path, modules: Sequence[str], *, mutants: bool) -> None:
    """Both ways for each module."""
    table = Table("module", "how", "mutants killed", "tokens", "calls", "lines of test", "passed", "failed")
    for number, path in enumerate(modules):
        for how, write in (("Rolecall", write_ours), ("one plain prompt", write_plain)):
            copy = copied(root, scratch / f"{number}-{write.__name__}")
            written = asyncio.run(write(copy, path, environment))
            results = run_tests(environment, copy, written.tests)
            killed = cosmic_ray(environment, copy, path, written.tests, results.failed) if mutants else "not measured"
            size = sum(bool(line.strip()) for test in written.tests for line in (copy / test).read_text().splitlines())
            numbers = (written.tokens, written.n_calls, size, len(results.passed), len(results.failed))
            table.add_row(path, how, killed, *map(str, numbers))
            if written.said:
                Console(stderr=True).print(f"{path}: {written.said}", markup=False)
    wide_screen().print(table)


def print_findings(scratch: Path, environment: Path, bugs: Sequence[dict[str, str]]) -> None:
    """Return what became of each planted bug."""
    table = Table("bug", "reported", "as", "asserted as correct", "tests", "tokens")
    n_reported = n_asserted = 0
    for number, bug in enumerate(bugs):
        copy = copied(Path(bug["root"]), scratch / f"bug-{number}")
        location = copy / bug["path"]
        right = location.read_text("utf-8")
        if right.count(bug["old"]) != 1:
            raise SystemExit(f"{bug['path']}: the text to replace occurs {right.count(bug['old'])} times.")
        location.write_text(right.replace(bug["old"], bug["new"]), "utf-8")
        written = asyncio.run(write_ours(copy, bug["path"], environment))
        wrong = run_tests(environment, copy, written.tests)
        location.write_text(right, "utf-8")
        asserted = set(run_tests(environment, copy, written.tests).failed) & set(wrong.passed)
        found = [one for one in (written.evidence.defects if written.evidence else ()) if _names(one.symbol, bug)]
        said = "; ".join(one.sentence for one in found) or written.said
        n_reported += bool(found) or _names_in(written.said, bug)
        n_asserted += bool(asserted)
        reported = "yes" if found or _names_in(written.said, bug) else "no"
        table.add_row(
            f"{bug['path']}: {bug['symbol']}",
            reported,
            said,
            ", ".join(sorted(asserted)) or "none",
            str(len(wrong.passed)),
            str(written.tokens),
        )
    wide_screen().print(table)
    print(f"reported: {n_reported} of {len(bugs)}; asserted as correct: {n_asserted}")


def _names(symbol: str, bug: dict[str, str]) -> bool:
    named, planted = symbol.split("."), bug["symbol"].split(".")
    return named[-1] in planted or planted[-1] in named


def _names_in(said: str, bug: dict[str, str]) -> bool:
    return f"Finding: {bug['path']}, {bug['symbol']}:" in said


def copied(root: Path, target: Path) -> Path:
    """A copy of the repository without its tests."""
    shutil.copytree(root, target, ignore=shutil.ignore_patterns(".git", "__pycache__", "*.pyc", ".venv"))
    for found in sorted(target.rglob("*"), reverse=True):
        is_test = found.name.startswith("test_") or found.name in ("tests.py", "conftest.py")
        if found.is_dir() and found.name in _TESTS:
            shutil.rmtree(found)
        elif found.is_file() and found.suffix == ".py" and is_test:
            found.unlink()
    return target.resolve()


async def write_ours(root: Path, path: str, environment: Path) -> Written:
    """Return what the QA Engineer proposes for *path*, accepted."""
    data = root.parent / f"{root.name}-data"
    data.mkdir()
    environ = {**os.environ, "VIRTUAL_ENV": str(environment), "XDG_DATA_HOME": str(data)}
    settings, _ = read_settings(PATIENT, environ)
    model = Counted(named_model(settings.model, environ).client)
    store, workspace = open_store(data / "rolecall.sqlite"), Workspace(root)
    index = Index(root)
    index.scan()
    run_id = begin_run(store, root, RunRequest(RoleName.QA_ENGINEER, path))
    try:
        repository = Repository(workspace, index.snapshot(), store, settings, environ)
        chosen, silent = Chosen(model, "the benchmark names it"), Developer(lambda message, fraction: None)
        ended = await carry_out_run(run_id, repository, chosen, silent)
        if ended.error is not None and not ended.proposal_id:
            raise ended.error
        reviewed = load_proposal(store, ended.proposal_id)
        wanted = with_needs(reviewed.proposal, reviewed.states, reviewed.offered)
        tests = carry_out_decisions(store, workspace, reviewed, wanted, {})
        return Written(root, tests, model.tokens, model.n_calls, reviewed.proposal.evidence)
    except RolecallError as error:
        return Written(root, (), model.tokens, model.n_calls, said=str(error))
    finally:
        await model.aclose()
        index.close()
        store.close()


async def write_plain(root: Path, path: str, environment: Path) -> Written:
    """Return what the same model writes when it is asked once for tests of the file."""
    settings, _ = read_settings(PATIENT, os.environ)
    model = Counted(named_model(settings.model, os.environ).client)
    text = (root / path).read_text("utf-8")
    module = path.removeprefix("src/").removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    try:
        reply = await model.complete([ChatMessage("user", PLAIN.format(path=path, module=module, text=text))])
    finally:
        await model.aclose()
    blocks = _BLOCK.findall(reply.text)
    name = f"test_plain_{module.rpartition('.')[2]}.py"
    (root / "tests").mkdir(exist_ok=True)
    (root / "tests" / name).write_text(max(blocks, key=len, default=reply.text), "utf-8")
    return Written(root, (f"tests/{name}",), model.tokens, model.n_calls)


def run_tests(environment: Path, root: Path, tests: Sequence[str]) -> Results:
    """Run *tests*, and return how they ended."""
    if not tests:
        return Results((), ())
    report = root.parent / f"{root.name}.xml"
    options = ["-q", "-p", "no:cacheprovider", "-o", "junit_family=xunit1", f"--junitxml={report}"]
    _run([environment / "bin" / "python", "-m", "pytest", *options, *tests], root)
    passed: list[str] = []
    failed: list[str] = []
    for case in ET.parse(report).iter("testcase"):
        bad = case.find("failure") is not None or case.find("error") is not None
        file, name = case.get("file"), case.get("name", "")
        holder = case.get("classname", "").rpartition(".")[2]
        inside = f"{holder}::" if holder.startswith("Test") else ""
        node = f"{file}::{inside}{name}" if file else tests[0]
        if case.find("skipped") is None:
            (failed if bad else passed).append(node)
    return Results(tuple(passed), tuple(failed))


def cosmic_ray(environment: Path, root: Path, path: str, tests: Sequence[str], failing: Sequence[str]) -> str:
    """Return how many of cosmic-ray's mutants *tests* kill; tests that fail anyhow are left aside."""
    if not tests or any("::" not in test for test in failing):
        return "0"
    program = [environment / "bin" / "python", Path(__file__).with_name("forked_mutants.py")]
    told = _run([*program, path, *(f"--deselect={test}" for test in failing), *tests], root)
    n_killed, n_all = map(int, told.split())
    return f"{n_killed} of {n_all} ({n_killed / n_all:.1%})" if n_all else "none"


def _run(command: Sequence[str | Path], root: Path) -> str:
    """Run *command* with the sources of *root* to import, and return what it prints."""
    paths = os.pathsep.join([str(root / "src"), str(root)])
    variables = {"PATH": os.environ["PATH"], "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"}
    ended = subprocess.run(command, cwd=root, env=variables, capture_output=True, text=True, check=False)
    return ended.stdout


if __name__ == "__main__":
    main()
