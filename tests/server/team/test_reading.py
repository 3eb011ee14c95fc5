"""Code is read for promises it does not keep: what is named is run in the sandbox before anybody is told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from rolecall_analysis import Index
from rolecall_server.craft.code_review.candidates import ReviewScope
from rolecall_server.craft.code_review.judging import Judgement
from rolecall_server.model import Chosen, Reply, ToolCall
from rolecall_server.settings import read_settings
from rolecall_server.team.code_review.verdicts import JudgedCode, judged_in, promises_found, review_request
from rolecall_server.team.engine.scheduler import carry_out_run
from rolecall_server.team.plan.planning import begin_run
from rolecall_server.team.request import Repository
from rolecall_server.team.room import Developer
from rolecall_server.workspace import Workspace
from support.scripted_model import ScriptedModel
from support.stores import open_store
from support.workspaces import environment, write_workspace

TEXT = '''\
def shorten(text, limit=0):
    """Return the first words of *text*, at most *limit* of them; 0 means all."""
    return " ".join(text.split()[:limit])


def loud(text):
    """Return *text* in capitals."""
    return text.upper()
'''
FILES = {
    "src/shop/text.py": TEXT,
    "tests/test_text.py": "from shop.text import loud\n\n\ndef test_loud():\n    assert loud('a') == 'A'\n",
}


def named(name: str, line: int, test: str) -> str:
    return (
        f"{name}, line {line}: the docstring says so\nbecause: it does not\n"
        f"```python\nfrom shop.text import loud, shorten\n\n\n{test}```\n"
    )


BROKEN = named("p1", 3, 'def test_all():\n    assert shorten("a b") == "a b"\n')
KEPT = named("p2", 8, 'def test_loud():\n    assert loud("a") == "A"\n')
BY_ITSELF = named("p3", 8, 'def test_quiet():\n    assert loud("a", 1, 2) == "A"\n')
ENDLESS = named("p4", 8, "def test_ends():\n    while True:\n        pass\n")


async def review(
    tmp_path: Path,
    replies: Sequence[str | Reply],
    files: Mapping[str, str] = FILES,
    tests: Mapping[str, object] | None = None,
) -> tuple[JudgedCode, ScriptedModel, Repository]:
    root = write_workspace(tmp_path / "work", dict(files))
    index = Index(root)
    index.scan()
    snapshot = index.snapshot()
    index.close()
    settings, _ = read_settings({"tests": {"timeoutSeconds": 20, **(tests or {})}}, {})
    store = open_store(tmp_path / "rolecall.db")
    repository = Repository(Workspace(root), snapshot, store, settings, environment(tmp_path / "home"))
    run_id = begin_run(store, root, review_request(ReviewScope(tuple(path for path in files if path.endswith(".py")))))
    model = ScriptedModel(replies)
    ended = await carry_out_run(
        run_id, repository, Chosen(model, "the test", takes_tools=True), Developer(lambda *_: None)
    )
    assert ended.error is None
    assert len(model.asked) == len(replies)
    return judged_in(store, run_id), model, repository


async def test_a_broken_promise_is_told_with_the_test_that_shows_it_and_a_kept_one_is_not(tmp_path: Path) -> None:
    replies = [BROKEN + KEPT + BY_ITSELF, "none", "p1: real\nbecause: 0 is all"]
    judged, model, repository = await review(tmp_path, replies)
    (found,) = judged.found_by_reading
    assert (found.id, found.rule.name, found.fault.path, found.fault.scope) == (
        "p1",
        "broken_promise",
        "src/shop/text.py",
        "shorten",
    )
    assert 'assert shorten("a b") == "a b"' in found.test
    assert judged.verdicts["p1"].judgement is Judgement.REAL
    assert judged.in_short == "1 real, 0 not real, 0 unsure, 1 refuted by a run; judged by a script"
    assert "p3 fails by itself: TypeError: loud() takes 1 positional argument but 3 were given" in model.last_words[1]
    assert "p1 fails: AssertionError: assert '' == 'a b'" in model.last_words[2]
    root = repository.workspace.root
    assert promises_found(repository.store, root, "src/shop/text.py") == (found,)
    assert promises_found(repository.store, root, "src/shop/other.py") == ()
    assert not [*root.glob("tests/test_promise*")], "nothing is written to the workspace"


async def test_an_error_that_a_stand_in_raises_and_the_code_lets_through_is_the_codes(tmp_path: Path) -> None:
    stand_in = (
        "class Text:\n    def upper(self):\n        raise OSError('gone')\n\n\ndef test_any():\n    loud(Text())\n"
    )
    _, model, _ = await review(tmp_path, [named("p1", 8, stand_in), "p1: not real\nbecause: it may raise"])
    assert "p1 fails: OSError: gone" in model.last_words[1]


@pytest.mark.parametrize(
    ("line", "is_own"),
    [
        ("lout('a')", True),
        ("loud()", True),
        ("loud('a', limit=1)", True),
        ("import shop.missing", True),
        ("sys.modules['shop.text'].quiet('a')", True),
        ("loud('a').quiet()", False),
        ("loud('a')['b']", False),
        ("assert loud('a') == 'a'", False),
        ("pytest.fail('it raised')", False),
    ],
)
async def test_what_the_test_names_and_is_not_there_is_its_own_mistake_and_another_error_the_codes(
    tmp_path: Path, line: str, is_own: bool
) -> None:
    test = f"def test_it():\n    import sys, pytest\n    {line}\n"
    _, model, _ = await review(tmp_path, [named("p1", 8, test), "none" if is_own else "p1: not real\nbecause: x"])
    assert ("fail by an error on a line of their own" in model.last_words[1]) is is_own
    assert ("Judge each" in model.last_words[1]) is not is_own


async def test_a_fault_that_a_later_review_no_longer_finds_is_forgotten(tmp_path: Path) -> None:
    replies = [BROKEN, "p1: real\nbecause: 0 is all"]
    _, _, repository = await review(tmp_path, replies)
    root, path = repository.workspace.root, "src/shop/text.py"
    assert promises_found(repository.store, root, path)
    for scope, is_kept in ((ReviewScope((path,), reads=False), True), (ReviewScope((path,)), False)):
        run_id = begin_run(repository.store, root, review_request(scope))
        chosen = Chosen(ScriptedModel(["none"]), "the test")
        await carry_out_run(run_id, repository, chosen, Developer(lambda *_: None))
        assert bool(promises_found(repository.store, root, path)) is is_kept


async def test_a_test_that_does_not_end_takes_no_other_with_it(tmp_path: Path) -> None:
    replies = [BROKEN + ENDLESS, "p1: real\nbecause: 0 is all\np4: not real\nbecause: it does not end"]
    judged, model, _ = await review(tmp_path, replies, tests={"timeoutSeconds": 2})
    assert "p4 was not run: It did not end in its time." in model.last_words[1]
    assert [one.id for one in judged.found_by_reading] == ["p1"]
    assert judged.verdicts["p1"].judgement is Judgement.REAL


async def test_tests_and_what_no_model_may_see_are_not_read(tmp_path: Path) -> None:
    files = {**FILES, ".rolecallignore": "src/\n"}
    judged, model, _ = await review(tmp_path, [], files)
    assert (judged.promises, model.asked) == ((), [])


async def test_what_the_model_looks_up_is_answered_with_the_workspaces_python(tmp_path: Path) -> None:
    asks = Reply("", "script-1", None, None, calls=(ToolCall("1", "documentation", '{"name": "json.dumps"}'),))
    _, model, _ = await review(tmp_path, [asks, "none"])
    assert "Serialize" in model.last_words[1]


async def test_the_model_is_told_how_often_it_may_look_things_up(tmp_path: Path) -> None:
    replies = [BROKEN, "p1: real\nbecause: 0 is all"]
    _, model, _ = await review(tmp_path, replies)
    told = [messages[0].text for messages in model.asked]
    assert all("in at most 1 round and 6 calls" in text for text in told)
    assert told[0].startswith("You read the code")
    assert told[1].startswith("You decide whether")


async def test_what_one_run_has_no_room_for_is_counted(tmp_path: Path) -> None:
    files = {f"m{number}.py": TEXT for number in range(6)}
    judged, _, _ = await review(tmp_path, ["none"] * 4, files)
    assert judged.in_short.endswith("judged by a script; 2 parts of the code not read: review fewer files at once")
