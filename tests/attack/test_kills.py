"""A signal at any moment of whatever changes something: nothing is lost, nothing untrue is said, nothing is left.

Moments are of two kinds, both by chance: a time within what the command took when nobody struck, and the nth of the
steps that it took then (a file changed, something stored, a process started, a connection made). What is believed
afterwards is what lies on the disk; the store is compared with that, and so is every sentence that was printed.
"""

from __future__ import annotations

import json
import random
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from rolecall_server.model import ChatMessage
from rolecall_server.store import open_store
from support.aftermath import ACCEPT, SHOP, Scene, check_what_was_said, scene_in
from support.attacks import seed_of, size
from support.chat_server import ChatServer
from support.frames import SERVER
from support.real_session import propose, real_session
from support.shop_team import BRIEF, TAX, shop_speeches
from support.striking import Ended, Moment, Prepared
from support.team_model import who_is_asked
from support.traced import fresh
from support.traced_editor import Habits, TracedEditor

ROLES = "product_manager,architect,project_manager,engineer,qa_engineer,reviewer"
QUIET = ("--set", "tests.run=false", "--set", "budget.tokensPerRun=0", "--set", "budget.callsPerRun=0")
SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
HABITS = Habits()
IN_AN_EDITOR = {path: (text, f"{text}TWICE = 2 * N\n") for path, text in SHOP.items() if path.startswith("many/")}
BEYOND = 1.1
"""How far past its usual end a command may be struck, in its length."""
NEXT = (
    ("review",),
    ("review", "--json"),
    ("log",),
    ("log", "--json"),
    ("usage",),
    ("documents",),
    ("rank", ".", "total"),
    ("graph", "imports", "."),
    ("serve",),
)
"""The next command, of any kind."""


def answer(body: Mapping[str, Any]) -> str:
    """Return what the model says: the Engineer's edit, or the part of whoever of the team is asked."""
    messages = [ChatMessage(one["role"], one["content"]) for one in body["messages"]]
    said = shop_speeches().get(who_is_asked(messages), TAX)
    assert isinstance(said, str)
    return said


def accept_first(prepared: Prepared, scene: Scene) -> None:
    scene.offer()
    assert prepared.run(ACCEPT, scene.root, scene.environ).status == 0


ACTIONS: Mapping[str, tuple[tuple[str, ...], Callable[[Prepared, Scene], None]]] = {
    "accept": (ACCEPT, lambda _, scene: scene.offer()),
    "undo": (("undo", "p1"), accept_first),
    "tests": (("tests", "shop/price.py", "--yes"), lambda *_: None),
    "implement": (("implement", "let total() take a tax", "--in", "shop/price.py", "--yes"), lambda *_: None),
    "team": (("run", BRIEF, "--roles", ROLES, "--yes", "--untested", *QUIET), lambda *_: None),
}
"""What is struck, and what goes before it."""
CASES = [
    *(("accept", n) for n in range(size(2, 150))),
    *(("undo", n) for n in range(size(1, 80))),
    *(("tests", n) for n in range(size(1, 70))),
    *(("implement", n) for n in range(size(1, 70))),
    *(("team", n) for n in range(size(1, 60))),
]


@pytest.fixture(scope="module")
def prepared() -> Iterator[Prepared]:
    with Prepared() as process:
        yield process


@pytest.fixture(scope="module")
def base_url() -> Iterator[str]:
    with ChatServer(answer) as chat:
        yield chat.base_url
        chat.problems.clear()  # a process that is killed may leave half a request behind


@pytest.fixture(scope="module")
def usual(prepared: Prepared, base_url: str, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Ended]:
    """What each action is like when nobody strikes: the control, and what moments are taken from."""

    def run(action: str) -> Ended:
        scene = begin(action, tmp_path_factory.mktemp(action), prepared, base_url)
        ended = prepared.run(ACTIONS[action][0], scene.root, scene.environ)
        assert ended.status == 0, ended.said
        assert (scene.there() != {path: text.encode() for path, text in SHOP.items()}) == (action != "undo")
        assert (scene.there(), scene.litter()) == (scene.decided()[0], [])
        return ended

    return cache(run)


def begin(action: str, folder: Path, prepared: Prepared, base_url: str) -> Scene:
    """Return the scene right before *action*."""
    scene = scene_in(folder, base_url if action in ("implement", "team") else "")
    ACTIONS[action][1](prepared, scene)
    return scene


def some_moment(chance: random.Random, ended: Ended) -> Moment:
    """Return a moment of a command that usually is as *ended* was."""
    if chance.random() < 0.4:
        return Moment(after_s=chance.uniform(0, ended.seconds * BEYOND))
    name = chance.choice(sorted({*ended.steps}))
    return Moment(name, chance.randint(1, ended.steps.count(name)))


@pytest.mark.parametrize(("action", "number"), CASES)
def test_a_signal_loses_nothing_says_nothing_untrue_and_leaves_nothing(
    action: str,
    number: int,
    prepared: Prepared,
    base_url: str,
    usual: Callable[[str], Ended],
    tmp_path: Path,
    pytestconfig: pytest.Config,
) -> None:
    chance = random.Random(f"{seed_of(pytestconfig)} {action} {number}")
    moment, strikes = some_moment(chance, usual(action)), chance.choice(SIGNALS)
    scene = begin(action, tmp_path, prepared, base_url)
    before = scene.there()
    struck = prepared.run(ACTIONS[action][0], scene.root, scene.environ, strikes, moment)
    found = scene.there()
    agreed = found == scene.decided()[0]
    command = chance.choice(NEXT)
    print(f"{strikes.name} {moment}; then {' '.join(command)}")
    if chance.random() < 0.25:  # what sees to it may be ended as well
        again = prepared.run(command, scene.root, scene.environ, signal.SIGKILL, Moment(after_s=chance.uniform(0, 0.2)))
        found, agreed = scene.there(), scene.there() == scene.decided()[0]
        print(f"ended at {again.seconds:.3f} s: {again.said}")
    then = prepared.run(command, scene.root, scene.environ)
    print(f"{struck.status}: {struck.said[-2000:]}\nthen {then.status}: {then.said}")
    assert then.status == (command == ("serve",)), "an editor that hangs up without a word is told by the exit code"
    assert prepared.left() == []
    assert scene.litter() == []
    assert "Traceback" not in struck.said
    texts, states = scene.decided()
    assert scene.there() == texts
    assert all(len(each) == 1 for each in states), "a proposal is in the files whole, or not at all"
    check_what_was_said(struck, then, before, found, scene.there())
    assert agreed or "was ended" in then.said
    assert scene.acts().count("accept") == (action == "undo") + (action != "undo" and texts != before)
    assert scene.acts().count("undo") == (action == "undo" and texts != before)
    running = prepared.run(("log", "--json"), scene.root, scene.environ)
    assert "running" not in {run["state"] for run in json.loads(running.said)}


@pytest.mark.parametrize("number", range(size(1, 70)))
async def test_a_server_that_is_ended_while_an_editor_accepts_believes_the_disk_and_says_what_it_found(
    number: int, prepared: Prepared, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    chance = random.Random(f"{seed_of(pytestconfig)} server {number}")
    scene = scene_in(tmp_path)
    with closing(open_store(scene.store)) as store:
        propose(store, scene.root, IN_AN_EDITOR)
    async with real_session(tmp_path, scene.environ, SERVER, HABITS) as session:
        editor = TracedEditor(scene.root, session.send, HABITS)
        editor.files = {path: fresh(text) for path, text in SHOP.items()}
        session.open_folder(editor)
        await session.until(lambda: session.n_shown() == len(IN_AN_EDITOR))
        session.ask("rolecall.proposal.accept", proposalId="p1")
        await session.rest(chance.choice([0, 0.02, chance.uniform(0, 0.3), chance.uniform(0, 2)]))
        session.client.process.send_signal(chance.choice(SIGNALS))
        await session.client.process.wait()
        for path in [*editor.buffers]:
            if chance.random() < 0.5:  # what was not saved is lost with the editor
                editor.save(path)
    saved, agreed = scene.there(), scene.there() == scene.decided()[0]
    if chance.random() < 0.5:
        told = await told_on_opening(tmp_path, scene)
        then = prepared.run(("log",), scene.root, scene.environ)
    else:
        then = prepared.run(chance.choice([("log",), ("review",), ("review", "--json")]), scene.root, scene.environ)
        told = then.said
    print(f"{'as stored' if agreed else 'otherwise than stored'}; told {told}")
    assert then.status == 0
    assert scene.there() == saved == scene.decided()[0]
    assert agreed or "On the disk" in told.replace("\n", " ")
    assert (scene.litter(), prepared.left()) == ([], [])


async def told_on_opening(folder: Path, scene: Scene) -> str:
    """Return what a new server tells whoever opens the workspace."""
    async with real_session(folder, scene.environ, SERVER, HABITS) as session:
        session.open_folder(TracedEditor(scene.root, session.send, HABITS))
        reply = session.ask("rolecall.proposal.show", proposalId="p1")
        await session.until(lambda: any(message.get("id") == reply for message in session.client.received))
        session.client.close_input()
        await session.client.process.wait()
        return "\n".join(session.told)
