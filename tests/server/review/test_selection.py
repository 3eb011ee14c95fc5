"""What would be missing with some hunks of a proposal and without the rest."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from textwrap import dedent

from rolecall_analysis import Snapshot
from rolecall_server.review.checks.hunk_needs import link_hunks
from rolecall_server.review.proposals.evidence import Evidence
from rolecall_server.review.proposals.hunks import file_change, number_hunks
from rolecall_server.review.proposals.proposal import HunkState, Proposal
from rolecall_server.review.proposals.proposal_store import Reviewed
from rolecall_server.review.selection import lacks_of, texts_with
from rolecall_server.workspace import TextFile
from support.workspaces import write_workspace

Texts = dict[str, str]


def source(text: str) -> str:
    return dedent(text).lstrip("\n")


def reviewed(before: Texts, after: Texts, rejected: set[str]) -> Reviewed:
    """A proposal that turns one workspace into another, with the hunks *rejected* that add one of these lines."""
    snapshot = Snapshot().with_changes({**before})
    changes = [
        file_change(path, TextFile(path, before[path]) if path in before else None, text)
        for path, text in after.items()
        if text != before.get(path)
    ]
    linked = link_hunks(number_hunks(changes), snapshot)
    proposal = Proposal("p1", "r1", "Engineer", "a change", "", "", linked, Evidence(ran=False))
    states = {
        hunk.id: HunkState.REJECTED if any(line in "".join(hunk.new_lines) for line in rejected) else HunkState.PENDING
        for _, hunk in proposal.hunks()
    }
    return Reviewed(proposal, states)


def warnings(before: Texts, after: Texts, *rejected: str, now: Texts | None = None) -> list[str]:
    """What is said where all is accepted but the hunks that add one of the *rejected* lines."""
    selected = reviewed(before, after, {*rejected})
    assert HunkState.REJECTED in selected.states.values()
    texts = {**before, **(now or {})}
    lacks = lacks_of(selected, selected.offered, Snapshot().with_changes({**texts}), texts.get)
    return [lack.sentence for lack in lacks]


FILLER = "\n".join(f"def step_{n}():\n    return {n}\n\n" for n in range(5)) + "\n"

TOOL = (
    source("""
    import argparse


    def parser():
        made = argparse.ArgumentParser()
        made.add_argument("path")
        return made


""")
    + FILLER
    + source("""
    def main():
        args = parser().parse_args()
        print(args.path)
""")
)


def test_an_option_that_is_read_and_not_added_is_named_with_its_hunk() -> None:
    after = TOOL.replace(
        '    made.add_argument("path")\n', '    made.add_argument("path")\n    made.add_argument("--file-dialect")\n'
    ).replace("print(args.path)", "print(args.path, args.file_dialect)")
    said = warnings({"tool.py": TOOL}, {"tool.py": after}, '"--file-dialect"')
    assert said == ["main reads args.file_dialect, which h1 adds"]
    assert warnings({"tool.py": TOOL}, {"tool.py": after}, "args.file_dialect)") == []


def test_an_option_is_known_by_its_dest() -> None:
    after = TOOL.replace('add_argument("path")', 'add_argument("path")\n    made.add_argument("-d", dest="style")')
    after = after.replace("print(args.path)", "print(args.style)")
    assert warnings({"tool.py": TOOL}, {"tool.py": after}, 'dest="style"') == ["main reads args.style, which h1 adds"]


CART = (
    source("""
    from dataclasses import dataclass
    from enum import Enum


    LIMIT = 3


    class Kind(Enum):
        NEW = 1


    @dataclass
    class Cart:
        price: int


    class Shop:
        def __init__(self):
            self.name = ""


    def row():
        return {"price": 1}


""")
    + FILLER
    + source("""
    def use(cart, shop):
        return cart.price, shop.name, row()["price"], LIMIT, Kind.NEW
""")
)


def added(give: tuple[str, str], use: str) -> tuple[Texts, Texts]:
    """The workspace before, and with one place that gives something and another that reads it."""
    after = CART.replace(*give).replace("return cart.price", f"return {use}, cart.price")
    assert after.count(use)
    return {"cart.py": CART}, {"cart.py": after}


def test_a_field_of_a_dataclass_is_missed() -> None:
    before, after = added(("price: int\n", "price: int\n    weight: int = 0\n"), "cart.weight")
    assert warnings(before, after, "weight: int") == ["use reads cart.weight, which h1 adds"]


def test_an_attribute_of_self_is_missed() -> None:
    before, after = added(('self.name = ""\n', 'self.name = ""\n        self.town = ""\n'), "shop.town")
    assert warnings(before, after, "self.town") == ["use reads shop.town, which h1 adds"]


def test_a_key_of_a_dictionary_is_missed() -> None:
    before, after = added(('{"price": 1}', '{"price": 1, "tax": 2}'), 'row()["tax"]')
    assert warnings(before, after, '"tax": 2') == ['use reads row()["tax"], which h1 adds']


def test_a_member_of_an_enumeration_is_missed() -> None:
    before, after = added(("    NEW = 1\n", "    NEW = 1\n    USED = 2\n"), "Kind.USED")
    assert warnings(before, after, "USED = 2") == ["use reads Kind.USED, which h1 adds"]


def test_a_constant_of_the_module_is_missed() -> None:
    before, after = added(("LIMIT = 3\n", "LIMIT = 3\nLEAST = 1\n"), "LEAST")
    assert warnings(before, after, "LEAST = 1") == ["use reads LEAST, which h1 adds"]


def test_a_parameter_is_missed_by_its_calls() -> None:
    before, after = added(("def row():", "def row(size=0):"), "row(size=1)")
    assert warnings(before, after, "row(size=0)") == ["use passes size, which h1 adds"]


def test_a_parameter_that_is_put_before_others_and_its_calls_by_position_need_each_other() -> None:
    before = {"a.py": "def page(path, color=None):\n    return color\n\n\n" + FILLER + "def f():\n    page('x', 1)\n"}
    after = {"a.py": before["a.py"].replace("path, color", "path, words, color").replace("'x', 1", "'x', [], 1")}
    for left_out in ("words, color", "'x', [], 1"):
        assert warnings(before, after, left_out) == [
            "h1 and h2 fit each other only: what page takes, and a call of it"
        ] or (warnings(before, after, left_out) == ["h2 and h1 fit each other only: what page takes, and a call of it"])


def test_a_fixture_is_missed_by_the_tests_that_take_it() -> None:
    before = {"conftest.py": "import pytest\n", "test_cart.py": "def test_nothing():\n    pass\n"}
    after = {
        "conftest.py": "import pytest\n\n\n@pytest.fixture\ndef cart():\n    return []\n",
        "test_cart.py": before["test_cart.py"] + "\n\ndef test_cart(cart):\n    assert not cart\n",
    }
    assert warnings(before, after, "return []") == ["test_cart reads cart, which h1 adds"]


def test_an_import_from_a_file_that_is_left_out_is_missed() -> None:
    before = {"a.py": "x = 1\n"}
    after = {"a.py": "from b import y\n\nx = y\n", "b.py": "y = 1\n"}
    said = warnings(before, after, "y = 1\n")
    assert said
    assert all("h" in sentence and "adds" in sentence for sentence in said)


def test_what_is_taken_away_is_missed_where_the_caller_stays_as_it_was() -> None:
    before = {"a.py": "def old():\n    return 1\n", "b.py": "from a import old\n\n\ndef f():\n    return old()\n"}
    after = {"a.py": "def new():\n    return 1\n", "b.py": "from a import new\n\n\ndef f():\n    return new()\n"}
    said = warnings(before, after, "from a import new", "return new()")
    assert any("old" in sentence for sentence in said)


def test_nothing_is_said_of_hunks_that_stand_by_themselves() -> None:
    before, after = added(("LIMIT = 3\n", "LIMIT = 4\n"), "1 + 1")
    assert warnings(before, after, "LIMIT = 4") == []


def test_nothing_is_missing_that_somebody_typed_in_meanwhile() -> None:
    before, after = added(("LIMIT = 3\n", "LIMIT = 3\nLEAST = 1\n"), "LEAST")
    typed = CART.replace("NEW = 1\n", "NEW = 1\n\n\nLEAST = 2\n")
    assert warnings(before, after, "LEAST = 1", now={"cart.py": typed}) == []


def test_what_the_whole_proposal_breaks_is_not_laid_on_the_selection() -> None:
    before, after = added(("LIMIT = 3\n", "LIMIT = 4\n"), "nowhere_bound")
    assert warnings(before, after, "LIMIT = 4") == []


def test_the_check_is_of_exactly_the_text_that_will_stand_there() -> None:
    before, after = added(("LIMIT = 3\n", "LIMIT = 3\nLEAST = 1\n"), "LEAST")
    selected = reviewed(before, after, {"LEAST = 1"})
    typed = {"cart.py": "# typed\n" + CART}
    texts = texts_with(selected, selected.offered, typed.get)
    assert texts == {"cart.py": typed["cart.py"].replace("return cart.price", "return LEAST, cart.price")}


BILL = {
    "bill/__init__.py": "",
    "bill/parser.py": source("""
        import argparse


        def parser():
            made = argparse.ArgumentParser()
            made.add_argument("price", type=int)
            return made
        """),
    "bill/rates.py": 'NAMES = {"plain": 0}\n',
    "bill/model.py": source("""
        from dataclasses import dataclass


        @dataclass
        class Bill:
            price: int
        """),
    "bill/main.py": source("""
        from bill.model import Bill
        from bill.parser import parser


        def total(bill):
            return bill.price


        def main(words):
            args = parser().parse_args(words)
            return total(Bill(args.price))
        """),
    "test_bill.py": source("""
        from bill.main import main


        def test_a_price():
            assert main(["3"]) == 3
        """),
}
TAXED = {
    "bill/parser.py": BILL["bill/parser.py"].replace("type=int)\n", 'type=int)\n    made.add_argument("--tax-name")\n'),
    "bill/rates.py": 'NAMES = {"plain": 0, "full": 2}\nLEAST = 1\n\n\ndef rate(name):\n    return NAMES[name]\n',
    "bill/model.py": BILL["bill/model.py"] + "    tax: int = 0\n",
    "bill/main.py": source("""
        from bill.model import Bill
        from bill.parser import parser
        from bill.rates import LEAST, rate


        def total(bill, least=0):
            return max(bill.price + bill.tax, least)


        def main(words):
            args = parser().parse_args(words)
            return total(Bill(args.price, tax=rate(args.tax_name or "full")), least=LEAST)
        """),
    "test_bill.py": source("""
        from bill.main import main


        def test_a_price():
            assert main(["3"]) in (3, 5)


        def test_a_tax():
            assert main(["3", "--tax-name", "plain"]) == 3
        """),
}


RUN = "import test_bill\nfor name, run in vars(test_bill).items():\n    name.startswith('test_') and run()"


def test_of_ten_partial_acceptances_each_is_clean_or_warned_of(tmp_path: Path) -> None:
    """What behaves otherwise than a test asks is for the tests to show; what is missing is named without them."""
    whole = reviewed(BILL, TAXED, set()).proposal
    hunk_ids = [hunk.id for _, hunk in whole.hunks()]
    left_out = [{one} for one in hunk_ids] + [{one, hunk_ids[-1]} for one in hunk_ids[:-1]]
    assert len(left_out) >= 10
    n_warned = 0
    for number, rejected in enumerate(left_out):
        states = {one: HunkState.REJECTED if one in rejected else HunkState.PENDING for one in hunk_ids}
        selected = Reviewed(whole, states)
        lacks = lacks_of(selected, selected.offered, Snapshot().with_changes({**BILL}), BILL.get)
        root = write_workspace(tmp_path / str(number), {**BILL, **_texts(selected)})
        ended = subprocess.run([sys.executable, "-c", RUN], cwd=root, check=False, capture_output=True, text=True)
        is_sound = not ended.returncode or "AssertionError" in ended.stderr
        assert is_sound or lacks, f"without {rejected}, nothing is said"
        named = {hunk_id for lack in lacks for hunk_id in lack.hunks}
        assert named <= rejected
        n_warned += bool(lacks)
    assert 0 < n_warned < len(left_out), "some are clean"


def _texts(selected: Reviewed) -> Texts:
    return {path: text for path, text in texts_with(selected, selected.offered, BILL.get).items() if text is not None}
