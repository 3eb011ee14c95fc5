"""Candidates before a model: what it is shown, what its words mean, and when it is asked again."""

from __future__ import annotations

import pytest

from rolecall_analysis import Snapshot
from rolecall_server.craft.code_review.candidates import candidates_in, candidates_of_change
from rolecall_server.craft.code_review.judging import Batch, Judgement, Verdict, Vote, batches, judge, read_votes
from support.scripted_model import ScriptedModel

SHOP = """\
import re


class Shop:
    def other(self):
        return 1

    def number(self, text):
        found = re.match("[0-9]+", text)
        return found.group()


def add(name, names=[]):
    names.append(name)
    return names
"""
SNAPSHOT = Snapshot().with_changes({"shop.py": SHOP})
REAL, NOT_REAL, UNSURE = Judgement.REAL, Judgement.NOT_REAL, Judgement.UNSURE


def batch() -> Batch:
    (found,) = batches(SNAPSHOT, {"shop.py": SHOP}, candidates_in(SNAPSHOT, ["shop.py"]), 10_000)
    return found


def said(**votes: str) -> str:
    return "\n".join(f"{name}: {vote.replace('_', ' ')}\nbecause: of {name}" for name, vote in votes.items())


async def judged(*replies: str) -> tuple[dict[str, Verdict], ScriptedModel]:
    model = ScriptedModel(replies)
    verdicts = await judge(batch(), lambda: model)
    assert len(model.asked) == len(replies)
    return verdicts, model


async def test_the_model_sees_each_function_whole_and_nothing_else_of_the_file() -> None:
    _, model = await judged(said(c1="real", c2="real"), said(c1="real", c2="real"))
    shown = model.asked[0][1].text
    assert "    8     def number(self, text):\n    9         found" in shown
    assert "    4 class Shop:" in shown
    assert "def other" not in shown
    assert "c1, line 10, None used as a value: `found` may be None here." in shown
    assert "line 10: `found.group` fails where `found` is None" in shown


async def test_what_a_rule_asks_is_said_once_and_of_a_long_way_the_last_steps() -> None:
    tests = "".join(f"    if a == {number}:\n        print(a)\n" for number in range(20))
    text = f"def load(a):\n{tests}    if a:\n        b = 1\n        c = 1\n    print(b)\n    print(c)\n"
    snapshot = Snapshot().with_changes({"shop.py": text})
    (found,) = batches(snapshot, {"shop.py": text}, candidates_in(snapshot, ["shop.py"]), 10_000)
    model = ScriptedModel([said(c1="real", c2="real")] * 2)
    await judge(found, lambda: model)
    shown = model.asked[0][1].text
    assert shown.count("Safe if: Every way that reaches the read") == 1
    ways = [line for line in shown.splitlines() if line.startswith("Way: ")]
    assert [way.count("line ") for way in ways] == [8, 8]
    assert ways[0].startswith("Way: …; line ")
    assert ways[0].endswith("; line 45: `b` is read")


async def test_the_model_sees_where_the_module_gives_the_name_a_value() -> None:
    text = """\
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import json
LIMIT = 1


def load(path):
    return json.loads(path)
"""
    snapshot = Snapshot().with_changes({"shop.py": text})
    (found,) = batches(snapshot, {"shop.py": text}, candidates_in(snapshot, ["shop.py"]), 10_000)
    assert "    3 if TYPE_CHECKING:\n    4     import json\n...\n    8 def load" in found.code


async def test_a_verdict_that_the_self_check_confirms_takes_two_calls() -> None:
    verdicts, model = await judged(said(c1="real", c2="not_real"), said(c1="real", c2="not_real"))
    assert verdicts == {
        "c1": Verdict(REAL, "of c1", (REAL, REAL)),
        "c2": Verdict(NOT_REAL, "of c2", (NOT_REAL, NOT_REAL)),
    }
    assert "Check yourself" in model.last_words[1]


async def test_where_the_self_check_differs_a_third_look_decides_on_these_alone() -> None:
    again = "c2: not real\nbecause: nobody calls it twice"
    verdicts, model = await judged(said(c1="real", c2="real"), said(c1="real", c2="not_real"), again)
    assert verdicts["c1"].votes == (REAL, REAL)
    assert verdicts["c2"] == Verdict(NOT_REAL, "nobody calls it twice", (REAL, NOT_REAL, NOT_REAL))
    third = model.last_words[2]
    assert "One says real: of c2" in third
    assert "Another says not real: of c2" in third
    assert "c1, line" not in third
    assert len(model.asked[2]) == 2, "it does not see the conversation that wavered"


async def test_three_looks_that_all_differ_leave_it_open() -> None:
    verdicts, _ = await judged(said(c1="real", c2="real"), said(c1="not_real", c2="real"), said(c1="unsure"))
    assert verdicts["c1"] == Verdict(UNSURE, "of c1", (REAL, NOT_REAL, UNSURE))


async def test_what_an_answer_leaves_out_is_asked_for_once_more() -> None:
    verdicts, model = await judged(said(c1="real"), said(c2="not_real"), said(c1="real", c2="not_real"))
    assert verdicts["c2"].judgement is NOT_REAL
    assert model.last_words[1].startswith("Your answer lacks c2.")


async def test_a_model_that_never_answers_in_the_form_leaves_all_open() -> None:
    verdicts, _ = await judged("I think it is fine.", "It is fine.")
    assert {verdict.judgement for verdict in verdicts.values()} == {UNSURE}
    assert {verdict.reason for verdict in verdicts.values()} == {"The model did not say."}


async def test_a_verdict_on_what_was_not_asked_is_not_heard() -> None:
    verdicts, _ = await judged(said(c1="real", c2="real", c9="real"), said(c1="real", c2="real", c9="not_real"))
    assert {*verdicts} == {"c1", "c2"}


@pytest.mark.parametrize(
    ("reply", "vote"),
    [
        ("c1: real\nbecause: it is", Vote(REAL, "it is")),
        ("**c1**: Not real\n**because**: a caller\nchecks", Vote(NOT_REAL, "a caller checks")),
        ("- `c1`: **unsure**\n- because: who knows", Vote(UNSURE, "who knows")),
        ("c1: real - with an empty text", Vote(REAL, "with an empty text")),
        ("c1: real\nbecause: a\n\nc1: not real\nbecause: b", Vote(NOT_REAL, "b")),
    ],
)
def test_a_vote_is_read_in_the_ways_in_which_models_write(reply: str, vote: Vote) -> None:
    assert read_votes(reply) == {"c1": vote}


@pytest.mark.parametrize("reply", ["", "c1 is real", "c1: really", "the c1: real", "cx: real"])
def test_what_is_no_vote_is_none(reply: str) -> None:
    assert read_votes(reply) == {}


def test_candidates_are_put_together_only_as_far_as_their_code_may_be_shown() -> None:
    found = batches(SNAPSHOT, {"shop.py": SHOP}, candidates_in(SNAPSHOT, ["shop.py"]), 60)
    assert [[one.id for one in each.candidates] for each in found] == [["c1"], ["c2"]]


def test_of_a_file_that_no_model_may_see_there_is_no_batch() -> None:
    assert batches(SNAPSHOT, {}, candidates_in(SNAPSHOT, ["shop.py"]), 10_000) == ()


def test_a_change_is_told_by_its_own_lines_though_the_same_fault_was_there_before() -> None:
    after = SNAPSHOT.with_changes({"shop.py": SHOP.replace('"[0-9]+"', '"[0-9]*"')})
    found, paths = candidates_of_change(after, {"shop.py": SHOP})
    assert [one.rule.name for one in found] == ["none_dereferenced"]
    assert paths == ("shop.py",)


def test_a_function_that_is_gone_has_its_callers_looked_at() -> None:
    before = {"shop.py": SHOP, "till.py": "from shop import add\n\n\ndef f(a):\n    return add(a)\n"}
    after = Snapshot().with_changes({**before, "shop.py": SHOP.partition("def add")[0]})
    assert candidates_of_change(after, {"shop.py": SHOP})[1] == ("shop.py",)
    assert candidates_of_change(Snapshot().with_changes(before), {"shop.py": ""})[1] == ("shop.py", "till.py")
