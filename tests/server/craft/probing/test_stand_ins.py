"""Calls in which mocks stand in for objects."""

from __future__ import annotations

import ast
import textwrap

from rolecall_server.craft.characterization.inputs.domains import ValueSources
from rolecall_server.craft.characterization.inputs.stand_ins import with_stand_ins
from rolecall_server.craft.characterization.inputs.survey import survey
from rolecall_server.craft.characterization.observation import CandidateCall


def mocked(text: str, name: str) -> list[CandidateCall]:
    known = survey(textwrap.dedent(text))
    target = next(one for one in known.targets if one.qualified_name == name)
    maker = next((one for one in known.targets if one.kind == "constructor" and one.name == target.owner), None)
    return with_stand_ins(target, maker, ValueSources(known), "shop.cart")


SHELF = """
import time
import json
from shop.stock import count, OutOfStockError
from typing import Optional
import typing as t

class Shelf:
    def __init__(self, store):
        self._store = store

    def __len__(self):
        return self._store.count("all")

    def take(self, item: str, limit: t.Optional[int] = None):
        return self._store.take(item, limit)

def left(item: str):
    try:
        time.sleep(1)
        return json.dumps(count(item))
    except OutOfStockError:
        return OutOfStockError("none")
"""


def test_each_call_is_of_the_class_under_test_and_none_of_a_mock_alone() -> None:
    for name in ("Shelf.__len__", "Shelf.take"):
        calls = mocked(SHELF, name)
        assert calls
        assert all("Shelf(" in call.source for call in calls), [call.source for call in calls]


def test_what_can_be_written_is_no_mock() -> None:
    given = [dict(zip(call.names, call.operands, strict=True)) for call in mocked(SHELF, "Shelf.take")]
    assert {"MagicMock()"} == {one["store"] for one in given if "store" in one}
    assert not {one.get("limit") for one in given} & {"MagicMock()"}
    assert not {one["item"] for one in given} & {"MagicMock()"}


def test_names_that_reach_out_or_come_from_elsewhere_are_replaced_and_neither_exceptions_nor_pure_modules() -> None:
    replaced = {tuple(name for _, name in call.patched) for call in mocked(SHELF, "left")}
    assert replaced == {("shop.cart.time", "shop.cart.count"), ("shop.cart.time",), ("shop.cart.count",)}


def test_methods_that_the_class_has_from_elsewhere_or_leaves_to_others_are_mocks() -> None:
    calls = mocked(
        """
        from shop.channel import Channel

        class Queue(Channel):
            def put(self, item):
                return self.send(self._packed(item), self._name())

            def _packed(self, item):
                return [item]

            def _name(self):
                raise NotImplementedError("in a subclass")
        """,
        "Queue.put",
    )
    steps = "[(queue := Queue()), setattr(queue, 'send', MagicMock()), setattr(queue, '_name', MagicMock()), queue][-1]"
    assert any(call.source.startswith(f"{steps}.put(") for call in calls), [call.source for call in calls]


def test_a_constant_that_is_read_is_another_one_item_by_item() -> None:
    text = """
        VERSION = (1, 2, "rc")
        LIMITS = {"a": 1}
        NAME = "shop"

        def release():
            return _short() + LIMITS["a"]

        def _short():
            return VERSION[0]

        class Shelf:
            HEIGHT = 3

            def __init__(self):
                pass

            def top(self):
                return self.HEIGHT
    """
    assert mocked(text, "Shelf.top") == []
    calls = mocked(text, "release")
    assert {call.patched for call in calls} == {((0, "shop.cart.VERSION"),)}
    others = [[repr(one) for one in ast.literal_eval(call.operands[0])] for call in calls]
    differing = [[one for one, was in zip(other, ("1", "2", "'rc'"), strict=True) if one != was] for other in others]
    assert len(others) > 6
    assert all(len(one) == 1 for one in differing)


CLIENT = """
import requests
from shop.sessions import Session, count

def names(url: str):
    answer = requests.get(url, timeout=3)
    if answer.status_code != 200:
        raise ValueError(answer.status_code)
    return [one["name"].upper() for one in answer.json()["items"]]

def people():
    with Session() as session:
        return session.get("/people").people

async def total():
    return await count("all") + 1
"""


def test_the_mock_of_an_imported_name_answers_with_what_is_read_of_the_answer() -> None:
    assert mocked(CLIENT, "names")[0].operands[-1] == (
        "MagicMock(**{'get.return_value': MagicMock(status_code=200, "
        "**{'json.return_value': {'items': [{'name': ''}]}})})"
    )
    assert mocked(CLIENT, "people")[0].operands[-1] == (
        "MagicMock(return_value=MagicMock(**{'__enter__.return_value': "
        "MagicMock(**{'get.return_value': SimpleNamespace(people='a')})}))"
    )
    assert mocked(CLIENT, "total")[0].operands[-1] == "AsyncMock(return_value=0)"
