"""Are open briefs asked about, and closed ones not? Twenty briefs, ten open in one known place.

    python benchmarks/studies/doubt.py run RESULTS PYTHON [--only 1,4] [--plain]
    python benchmarks/studies/doubt.py show RESULTS

`doubt_briefs.toml` names the packages, functions and briefs. PYTHON, of a virtual environment with pip and pytest,
installs each package into a folder of its own, which becomes a git repository, and runs its code. The model is the one
that ROLECALL_MODEL and ROLECALL_BASE_URL name. Each brief goes to the Engineer alone with `rolecall.team.doubt`; the
run ends before the Engineer begins. *--plain* also asks the same model, shown the same of the repository, in one plain
prompt whether something has to be asked. A line for each brief is added to RESULTS; what stands there is not run
again. Where the model fails the study ends, and goes on when it is run again.

`show` prints the table, and each question beside the place that was left open: whether it is about that place, a person
has to say.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import subprocess
import tempfile
import time
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from rich.table import Table

from rolecall_analysis import Index
from rolecall_server.cli.screen import wide_screen
from rolecall_server.errors import NoModelConfigured
from rolecall_server.model import NO_WISHES, ChatMessage, Chosen, ModelClient, Relay, Reply, Wishes, find_model
from rolecall_server.settings import read_settings
from rolecall_server.store import Store, open_store
from rolecall_server.team.control import Control
from rolecall_server.team.documents import Question
from rolecall_server.team.engine.scheduler import carry_out_run
from rolecall_server.team.messages.board import body_of, load_pool
from rolecall_server.team.plan.planning import begin_run
from rolecall_server.team.request import Repository, RunRequest
from rolecall_server.team.room import Developer
from rolecall_server.workspace import Workspace

REPLY_S = 3600
"""A model that thinks may take long."""
BRIEFS = Path(__file__).with_name("doubt_briefs.toml")
CLEAR = "CLEAR"
PLAIN = f"""\
You are about to carry out the brief at the end. If it leaves open what the code shall do, and neither the code, its
documentation nor its tests decide it, ask the developers one question about that, with the answers to choose from. If
nothing is open, answer with the one word {CLEAR}.
"""


@dataclass(frozen=True)
class Brief:
    """One brief."""

    package: str
    file: str
    function: str
    text: str
    open: str
    """The place that it leaves open; empty where it is closed."""


@dataclass(frozen=True)
class Result:
    """One brief, as it went."""

    number: int
    said: str
    """The reason why nothing was asked, or the question."""
    options: Sequence[str] = ()
    """The answers to choose from; none where nothing was asked."""
    n_calls: int = 0
    tokens: int = 0
    own_s: float = 0.0
    """Seconds without those that the model took."""
    plain: str = ""
    """The reply to the plain prompt; empty where it was not asked."""
    plain_tokens: int = 0


@dataclass
class Asked:
    """A developer who notes what is asked and says nothing."""

    control: Control = field(default_factory=Control)
    questions: list[Question] = field(default_factory=list[Question])

    async def ask(self, questions: Sequence[Question]) -> Mapping[str, str]:
        """Note *questions*."""
        self.questions += questions
        return {}

    def begun(self, steps: Sequence[object]) -> None:
        """Have no further step begin."""
        if steps:
            self.control.pause()


def main() -> None:
    """Run briefs, or show how they went."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("what", choices=["run", "show"])
    arguments.add_argument("results", type=Path)
    arguments.add_argument("python", type=Path, nargs="?")
    arguments.add_argument("--only", default="", help="numbers of briefs, from 1")
    arguments.add_argument("--plain", action="store_true")
    given = arguments.parse_args()
    briefs = [Brief(**each) for each in tomllib.loads(BRIEFS.read_text("utf-8"))["brief"]]
    known = read_results(given.results)
    if given.what == "show":
        show(briefs, known)
        return
    wanted = [int(number) for number in given.only.split(",") if number] or range(1, len(briefs) + 1)
    for number in wanted:
        if number not in known:
            result = run(number, briefs[number - 1], given.python.absolute(), plain=given.plain)
            with given.results.open("a", encoding="utf-8") as lines:
                lines.write(f"{json.dumps(asdict(result))}\n")
            print(f"{number} {briefs[number - 1].function}: {result.said}", flush=True)


def read_results(path: Path) -> dict[int, Result]:
    """Return the results that stand in *path*, by the number of the brief."""
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    return {result.number: result for line in lines for result in [Result(**json.loads(line))]}


def run(number: int, brief: Brief, python: Path, *, plain: bool) -> Result:
    """Return how *brief* went in a repository of its own."""
    with tempfile.TemporaryDirectory(prefix="rolecall-bench-") as scratch:
        root = lay_out(brief, python, Path(scratch))
        data = Path(scratch, "data")
        data.mkdir()
        store = open_store(data / "rolecall.sqlite")
        try:
            return asyncio.run(doubt(number, brief, root, python, store, plain=plain))
        finally:
            store.close()


def lay_out(brief: Brief, python: Path, scratch: Path) -> Path:
    """Return a git repository that holds the package of *brief* as it is installed."""
    installed, root = scratch / "installed", scratch / brief.package.partition("==")[0]
    options = ["--quiet", "--no-deps", "--no-compile", "--target", installed]
    subprocess.run([python, "-m", "pip", "install", *options, brief.package], check=True)
    top = brief.file.partition("/")[0]
    root.mkdir()
    (shutil.copytree if (installed / top).is_dir() else shutil.copyfile)(installed / top, root / top)
    identity = ["-c", "user.name=study", "-c", "user.email=study@localhost"]
    for command in (["init", "-q"], ["add", "-A"], [*identity, "commit", "-q", "-m", "Add the package"]):
        subprocess.run(["git", *command], cwd=root, check=True)
    return root


async def doubt(number: int, brief: Brief, root: Path, python: Path, store: Store, *, plain: bool) -> Result:
    """Return whether something is asked about *brief*, and what that took."""
    environ = {**os.environ, "XDG_DATA_HOME": str(root.parent / "data")}
    given = {
        "team": {"doubt": True},
        "tests": {"interpreter": str(python)},
        "model": {"timeoutSeconds": REPLY_S},
        "budget": {"secondsPerRun": 0},
    }
    settings, _ = read_settings(given, environ)
    index = Index(root)
    index.scan()
    repository = Repository(Workspace(root), index.snapshot(), store, settings, environ)
    index.close()
    model = await find_model(settings.model, environ, store=store)
    assert not isinstance(model, NoModelConfigured)
    asked, timed = Asked(), Timed(model.client)
    developer = Developer(lambda *_: None, asked.ask, control=asked.control, on_steps=asked.begun)
    run_id, began = begin_run(store, root, RunRequest(path=brief.file, brief=brief.text)), time.perf_counter()
    ended = await carry_out_run(run_id, repository, replace(model, client=timed), developer)
    own_s = time.perf_counter() - began - timed.waited_s
    calls, message = store.calls(run_id), load_pool(store, run_id).latest("doubt")
    if message is None:
        raise ended.error or AssertionError("the run ended without a doubt")
    said = body_of(message)["said"]
    options = asked.questions[0].options if asked.questions else ()
    told, n_told = await ask_plainly(model, json.loads(calls[0].request)) if plain and calls else ("", 0)
    await model.client.aclose()
    return Result(number, said, options, len(calls), sum(call.tokens for call in calls), own_s, told, n_told)


@dataclass
class Timed(Relay):
    """A model whose time is taken."""

    client: ModelClient
    waited_s: float = 0.0

    async def complete(self, messages: Sequence[ChatMessage], wishes: Wishes = NO_WISHES) -> Reply:
        """Return the client's reply."""
        began = time.perf_counter()
        try:
            return await self.client.complete(messages, wishes)
        finally:
            self.waited_s += time.perf_counter() - began


async def ask_plainly(model: Chosen, request: Sequence[Mapping[str, str]]) -> tuple[str, int]:
    """Return the reply to the plain prompt with what *request* showed of the repository, and its tokens."""
    shown = next(message["text"] for message in request if message["role"] == "user")
    reply = await model.client.complete([ChatMessage("system", PLAIN), ChatMessage("user", shown)])
    return reply.text.strip(), (reply.prompt_tokens or 0) + (reply.completion_tokens or 0)


def show(briefs: Sequence[Brief], results: Mapping[int, Result]) -> None:
    """Print what was asked about open and closed briefs, then each question."""
    table = Table("briefs", "run", "asked", "asked plainly", "tokens", "plain tokens", "own seconds, each")
    for name, is_open in (("open", True), ("closed", False)):
        numbers = [number for number, brief in enumerate(briefs, 1) if bool(brief.open) is is_open]
        found = [results[number] for number in numbers if number in results]
        plain = [one for one in found if one.plain]
        table.add_row(
            name,
            str(len(found)),
            str(sum(bool(one.options) for one in found)),
            f"{sum(not one.plain.startswith(CLEAR) for one in plain)} of {len(plain)}",
            f"{sum(one.tokens for one in found):,}",
            f"{sum(one.plain_tokens for one in found):,}",
            f"{sum(one.own_s for one in found) / max(1, len(found)):.0f}",
        )
    screen = wide_screen()
    screen.print(table)
    for number, result in sorted(results.items()):
        brief = briefs[number - 1]
        told = "".join(f"\n     - {option}" for option in result.options)
        screen.print(f"{number:3} {brief.function}: {brief.open or 'closed'}\n     {result.said}{told}", markup=False)


if __name__ == "__main__":
    main()
