"""What the QA Engineer is shown of faults that its tests let pass, and what is taken of its answer."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import pytest
from inline_snapshot import external_file

from rolecall_analysis import Index
from rolecall_server.craft.trial import Bench
from rolecall_server.model import ChatMessage
from rolecall_server.sandbox import Mutant, NotRun, mutants_of
from rolecall_server.settings import Settings
from rolecall_server.team.request import Desk, RoleName, RunRequest
from rolecall_server.team.roles import ask_about_survivors
from rolecall_server.team.roles.qa_survivors import LEAST
from rolecall_server.team.test_quality.proving import More
from rolecall_server.workspace import Workspace
from support.edits import block
from support.fixture import parse_fixture
from support.scripted_model import ScriptedModel

CART, TESTS = "shop/cart.py", "tests/test_cart.py"
SHOP = '''
    #- shop/__init__.py
    #- shop/cart.py
    """A cart."""

    LIMIT = 9


    class Cart:
        """What somebody is about to buy."""

        def __init__(self, prices):
            self.prices = prices

        def total(self):
            """The sum of the prices."""
            return sum(self.prices)

        def is_full(self):
            """Whether nothing more fits in."""
            return len(self.prices) >= LIMIT


    def share(total, n):
        """What each of n people pays; nobody pays where there is nobody."""
        if n == 0:
            return 0
        return total // n
'''
TEXT = """\
import pytest

from shop.cart import Cart, share

FEW = [1, 2]


@pytest.mark.parametrize("prices", [FEW])
def test_total(prices):
    assert Cart(prices).total() == 3
"""
LONG = (ChatMessage("user", "word " * 4000),)


class Asked:
    """A cart under test, and a model that is asked about faults in it."""

    def __init__(self, folder: Path) -> None:
        root = parse_fixture(SHOP).write_to(folder).resolve()
        index = Index(root)
        index.scan()
        self.model = ScriptedModel([])
        off = NotRun("nothing is run")
        self.desk = Desk(
            Workspace(root), index.snapshot(), Settings(), self.model, Bench(off, off, 1.0), lambda *_: None
        )
        self.code = (root / CART).read_text("utf-8")
        index.close()

    def faults(self, lines: Collection[int]) -> tuple[Mutant, ...]:
        return mutants_of(self.code, lines)

    async def ask(self, reply: str, lived: tuple[Mutant, ...], opening: tuple[ChatMessage, ...] = LONG) -> More | None:
        self.model.replies = [reply]
        request = RunRequest(RoleName.QA_ENGINEER, CART)
        return await ask_about_survivors(request, self.desk, opening, {TESTS: TEXT}, lived)


@pytest.fixture
def asked(tmp_path: Path) -> Asked:
    return Asked(tmp_path)


async def test_faults_are_shown_below_the_lines_they_change(asked: Asked) -> None:
    await asked.ask("None of it.", asked.faults([3, 18, 23, 24, 25]))
    ((system, user),) = asked.model.asked
    assert (system.role, user.role) == ("system", "user")
    assert user.text == external_file("prompts/faults_that_go_unnoticed.txt")


async def test_what_is_added_comes_back_with_what_was_said_of_the_faults(asked: Asked) -> None:
    faults = asked.faults([24, 25])
    added = "def test_share():\n    assert share(7, 2) == 3\n"
    more = await asked.ask(f"I divide.\n\nEquivalent: 1 and 3\n\n{block(TESTS, '', added)}", faults)
    assert more is not None
    assert more.files == {TESTS: f"{TEXT}\n\n{added}"}
    assert more.asked == faults
    assert more.equal == (faults[0], faults[2])
    assert more.said.startswith("I divide.")
    assert "def test_share" not in more.said


@pytest.mark.parametrize(
    "edit",
    [
        block(TESTS, "    assert Cart(prices).total() == 3\n", "    assert Cart(prices).total() >= 3\n"),
        block(TESTS, "", "def test_total():\n    assert Cart([]).total() == 0\n"),
        block("tests/test_other.py", "", "def test_share():\n    assert share(7, 2) == 3\n"),
        block(CART, "LIMIT = 9\n", "LIMIT = 8\n"),
        block(TESTS, "nowhere\n", "def test_share():\n    assert share(7, 2) == 3\n"),
    ],
    ids=["a test changed", "a name taken", "another file", "the code", "fits nowhere"],
)
async def test_what_is_no_addition_is_not_taken(asked: Asked, edit: str) -> None:
    more = await asked.ask(edit, asked.faults([23, 24, 25]))
    assert more is not None
    assert more.files == {}


async def test_nobody_is_asked_about_a_single_fault(asked: Asked) -> None:
    assert await asked.ask("", asked.faults([25])[:1]) is None
    assert asked.model.asked == []


async def test_nobody_is_asked_where_it_would_cost_much_of_what_the_tests_cost(asked: Asked) -> None:
    assert await asked.ask("", asked.faults(range(1, 30)), (ChatMessage("user", "word " * 500),)) is None
    assert asked.model.asked == []


async def test_where_not_all_can_be_shown_it_is_the_code_with_most_faults_for_its_length(asked: Asked) -> None:
    faults = asked.faults([18, 23, 24, 25])
    more = await asked.ask("None.", faults, (ChatMessage("user", "word " * 2200),))
    assert more is not None
    assert LEAST <= len(more.asked) < len(faults)
    ((_, user),) = asked.model.asked
    assert "def share" in user.text
    assert "is_full" not in user.text
