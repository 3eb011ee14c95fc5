"""What a model is told, whole: whoever edits a prompt, the packing or the wording of a task sees it in the diff.

``pytest tests/server/team --inline-snapshot=fix`` writes the files anew.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from threading import get_ident

import pytest
from inline_snapshot import external_file

from rolecall_analysis import Index
from rolecall_server.craft.attempt import AttemptWork
from rolecall_server.craft.trial import Bench
from rolecall_server.errors import BriefMissing, FileRefused
from rolecall_server.review.proposals.proposal import HunkState
from rolecall_server.review.proposals.proposal_store import decide
from rolecall_server.sandbox import FileCoverage, NotRun, TestResult, TestRun
from rolecall_server.settings import Settings
from rolecall_server.team.request import Desk, RoleName, RunRequest
from rolecall_server.team.revising import revise, revision_of
from rolecall_server.team.roles import implement, write_tests
from rolecall_server.workspace import Workspace
from support.fixture import parse_fixture
from support.proposals import propose
from support.scripted_model import ScriptedModel
from support.stores import open_store

SHOP = '''
    #- shop/__init__.py
    #- shop/money.py
    def round_up(amount, digits=2):
        """The amount, rounded up."""
        return amount

    #- shop/price.py
    """Prices."""

    from shop.money import round_up


    def total(items):
        """The sum of the prices."""
        if not items:
            return 0
        return round_up(sum(items))


    def discount(price, rate=0.1):
        """The price less the rate."""
        if rate > 1:
            raise ValueError("rate")
        return price * (1 - rate)

    #- shop/cart.py
    from shop.price import total


    def checkout(cart):
        return total(cart)

    #- tests/test_price.py
    from shop.price import total


    def test_total_of_nothing():
        assert total([]) == 0
'''
PROMPTS = "prompts/"
PRICE = "shop/price.py"
RAN = TestRun(
    "ran",
    outcomes=(TestResult("tests/test_price.py::test_total_of_nothing", "passed"),),
    coverage={PRICE: FileCoverage(PRICE, frozenset({1, 3, 6, 8, 9, 13}), frozenset({10, 15, 16, 17}), 4, 1)},
)


class Rehearsed(Bench):
    """A bench whose runs all end as `RAN` did."""

    async def run(
        self,
        files: Mapping[str, str | None],
        targets: Sequence[str],
        measure: Sequence[str],
        *,
        whole: bool = False,
        later: Collection[str] = (),
    ) -> TestRun | NotRun:
        return RAN


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return desk_at(tmp_path, SHOP)


def desk_at(folder: Path, text: str) -> Desk:
    root = parse_fixture(text).write_to(folder).resolve()
    index = Index(root)
    index.scan()
    off = NotRun("nothing is run")
    return Desk(
        Workspace(root), index.snapshot(), Settings(), ScriptedModel([]), Rehearsed(off, off, 1.0), lambda *_: None
    )


async def opening(request: RunRequest, desk: Desk) -> tuple[str, str]:
    """The system prompt, and what the user says."""
    role = {RoleName.QA_ENGINEER: write_tests, RoleName.ENGINEER: implement}[request.role]
    work, _ = await role(request, desk)
    system, user = work.opening
    assert (system.role, user.role) == ("system", "user")
    return system.text, user.text


async def test_who_the_qa_engineer_is(desk: Desk) -> None:
    system, _ = await opening(RunRequest(RoleName.QA_ENGINEER, PRICE), desk)
    assert system == external_file(PROMPTS + "qa_engineer_system.txt")


async def test_who_the_engineer_is(desk: Desk) -> None:
    system, _ = await opening(RunRequest(RoleName.ENGINEER, PRICE, brief="Add a tax."), desk)
    assert system == external_file(PROMPTS + "engineer_system.txt")


async def test_the_qa_engineer_extends_the_tests_of_a_file(desk: Desk) -> None:
    _, user = await opening(RunRequest(RoleName.QA_ENGINEER, PRICE), desk)
    assert user == external_file(PROMPTS + "tests_of_a_file.txt")


async def test_the_qa_engineer_tests_a_symbol_and_hears_what_the_developer_adds(desk: Desk) -> None:
    _, user = await opening(RunRequest(RoleName.QA_ENGINEER, PRICE, "discount", "Mind negative rates."), desk)
    assert user == external_file(PROMPTS + "tests_of_a_symbol.txt")


async def test_the_qa_engineer_writes_the_first_tests_of_a_file(desk: Desk) -> None:
    _, user = await opening(RunRequest(RoleName.QA_ENGINEER, "shop/money.py"), desk)
    assert user == external_file(PROMPTS + "first_tests_of_a_file.txt")


async def test_the_engineer_works_in_a_file(desk: Desk) -> None:
    _, user = await opening(RunRequest(RoleName.ENGINEER, PRICE, "total", "  Let total() take a tax rate.\n"), desk)
    assert user == external_file(PROMPTS + "brief_in_a_file.txt")


async def test_the_engineer_finds_the_files_of_a_brief(desk: Desk) -> None:
    _, user = await opening(RunRequest(RoleName.ENGINEER, brief="Round the discount up."), desk)
    assert user == external_file(PROMPTS + "brief_without_a_file.txt")


async def test_the_engineer_makes_what_waits_of_a_proposal_anew(desk: Desk, tmp_path: Path) -> None:
    store, root = open_store(tmp_path / "rolecall.db"), desk.workspace.root
    price = (root / PRICE).read_text()
    added = price.replace("if rate > 1:", "if not 0 <= rate <= 1:") + "\n\ndef tax(price):\n    return price * 0.2\n"
    reviewed = propose(store, root, {PRICE: added, "tests/test_tax.py": "def test_tax(): ...\n"}, title="Add a tax")
    (root / PRICE).write_text(price.replace("if rate > 1:", "if not 0 <= rate <= 1:"))
    decided = decide(store, reviewed, {"h1": HunkState.ACCEPTED})
    work, _ = await revise(store, revision_of(store, decided, brief="The tax is 19 per cent."), desk)
    store.close()
    assert work.opening[1].text == external_file(PROMPTS + "what_waits_of_a_proposal.txt")


class NotedReaders(Mapping[str, str]):
    """No open documents; knows which threads asked for one."""

    def __init__(self) -> None:
        self.threads: set[int] = set()

    def __getitem__(self, path: str) -> str:
        self.threads.add(get_ident())
        raise KeyError(path)

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


async def test_looking_for_the_files_of_a_brief_does_not_hold_up_the_server(desk: Desk) -> None:
    readers = NotedReaders()
    busy = replace(desk, workspace=Workspace(desk.workspace.root, readers))
    await implement(RunRequest(RoleName.ENGINEER, brief="Round the discount up."), busy)
    assert readers.threads
    assert get_ident() not in readers.threads


@pytest.mark.parametrize("brief", ["", " \n\t"])
async def test_the_engineer_needs_a_brief(desk: Desk, brief: str) -> None:
    with pytest.raises(BriefMissing):
        await implement(RunRequest(RoleName.ENGINEER, PRICE, brief=brief), desk)


@pytest.mark.parametrize("path", ["", "pyproject.toml", "tests/test_price.py"])
async def test_the_qa_engineer_needs_a_module(desk: Desk, path: str) -> None:
    with pytest.raises(FileRefused):
        await write_tests(RunRequest(RoleName.QA_ENGINEER, path), desk)


@pytest.mark.parametrize(
    ("path", "may"),
    [
        ("tests/test_price.py", True),
        ("tests/conftest.py", True),
        ("tests/__init__.py", True),
        ("tests/data/prices.json", True),
        ("shop/test_price.py", True),
        ("shop/price.py", False),
        ("conftest.py", False),
        ("shop/data/prices.json", False),
        ("pyproject.toml", False),
    ],
)
async def test_the_qa_engineer_may_change_tests_alone(desk: Desk, path: str, may: bool) -> None:
    work, _ = await write_tests(RunRequest(RoleName.QA_ENGINEER, PRICE), desk)
    assert _may_change(work, path) == may


def _may_change(work: AttemptWork, path: str) -> bool:
    refusal = work.refusal(path)
    assert refusal is None or path in refusal
    return refusal is None
