"""What a role is shown: what it works on first, the rest while it fits, each item with its reason."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rolecall_analysis import Index
from rolecall_server.context import ContextPack, Focus, PackSource, pack, render
from rolecall_server.context.manifest import manifest_of, read_manifest, render_manifest
from rolecall_server.errors import FileRefused, RequestRefused
from rolecall_server.model import estimate_tokens
from rolecall_server.workspace import Workspace, sha256
from support.fixture import parse_fixture

SHOP = '''
    #- shop/money.py
    RATES = {"eur": 1}

    def round_up(amount, digits=2):
        """The amount, rounded up.

        Twice as long as it must be.
        """
        return amount

    def unused(amount):
        return amount

    #- shop/price.py
    """Prices."""
    from shop.money import round_up

    def total(items):
        """The sum of the prices."""
        return round_up(sum(items))

    class Basket:
        def worth(self):
            return total(self.items)

    #- shop/cart.py
    from shop.price import total

    def checkout(cart):
        first = 1
        second = 2
        return total(cart) + first + second

    #- tests/test_price.py
    from shop.price import total

    def test_total():
        assert total([]) == 0

    #- tests/test_basket.py
    from shop.price import Basket

    def test_worth():
        assert Basket().worth() == 0
'''
AMPLE = 100_000


@pytest.fixture
def view(tmp_path: Path) -> PackSource:
    return view_of(tmp_path, SHOP)


def view_of(folder: Path, text: str, buffers: dict[str, str] | None = None) -> PackSource:
    root = parse_fixture(text).write_to(folder).resolve()
    index = Index(root)
    index.scan()
    for path, unsaved in (buffers or {}).items():
        index.open_document(path, unsaved)
    return PackSource(Workspace(root, buffers or {}), index.snapshot(), estimate_tokens)


def shown(context: ContextPack) -> dict[str, str]:
    """The reason of each item, by path and first line; fails where one is shown twice."""
    items = [item for item in context.items if item.zoom != "notes"]
    names = [f"{item.path}:{item.first_line}" for item in items]
    assert len(set(names)) == len(names), names
    return dict(zip(names, (item.reason for item in items), strict=True))


def test_a_file_is_shown_with_its_tests_what_it_uses_and_who_calls_it(view: PackSource) -> None:
    found = shown(pack(view, Focus("shop/price.py", test_path="tests/test_price.py"), AMPLE))
    assert found == {
        "shop/price.py:1": "the file to work on",
        "tests/test_price.py:1": "the test file to extend",
        "shop/money.py:3": "what the file in focus uses of it",
        "shop/cart.py:4": "calls total",
        "tests/test_basket.py:1": "tests that import it",
    }


def test_callers_are_shown_once_each_and_two_of_each_function(tmp_path: Path) -> None:
    callers = "".join(
        f"""
    #- shop/use_{n}.py
    from shop.price import total, rest

    def use():
        first = total([{n}])
        return total([first])

    rest({n})
    rest({n + 1})
    """
        for n in range(4)
    )
    text = f"""
    #- shop/price.py
    def total(items):
        return sum(items)

    def rest(n):
        return n
{callers}"""
    view = view_of(tmp_path, text)
    shop = shown(pack(view, Focus("shop/price.py"), AMPLE))
    assert sorted(shop.values()) == ["calls rest", "calls rest", "calls total", "calls total", "the file to work on"]
    one = shown(pack(view, Focus("shop/price.py", symbol="total"), AMPLE))
    assert list(one.values()).count("calls total") == 4


def test_what_is_used_is_shown_by_its_signature_and_first_sentence_alone(view: PackSource) -> None:
    items = {item.path: item for item in pack(view, Focus("shop/price.py"), AMPLE).items}
    assert items["shop/money.py"].text == 'def round_up(amount, digits=2)\n    """The amount, rounded up."""'
    assert items["shop/cart.py"].text == "    first = 1\n    second = 2\n    return total(cart) + first + second\n\n"


def test_without_a_test_file_to_extend_one_shows_the_style(view: PackSource) -> None:
    found = pack(view, Focus("shop/cart.py", style_path="tests/test_price.py"), AMPLE)
    assert (found.items[1].path, found.items[1].reason) == ("tests/test_price.py", "how this repository writes tests")


def found_by(brief: str, view: PackSource) -> list[str]:
    """The paths of the files whose text is shown for a brief that names no file, in order."""
    return [item.path for item in pack(view, Focus("", brief=brief), AMPLE).items if item.lines]


def test_without_a_file_the_brief_finds_some(view: PackSource) -> None:
    found = shown(pack(view, Focus("", brief="the worth of a basket"), AMPLE))
    assert next(iter(found.items())) == ("shop/price.py:1", "its text has the words asked for")


MAIL = """
    #- mail.py
    def send_mail(address): "mail mail mail"

    #- page.py
    def render_page(template): return template

    #- both.py
    def send_page(address): return address

    #- empty/mail/__init__.py
    #- tests/test_mail.py
    def test_send_mail(): "mail"
"""


def test_a_brief_finds_the_files_that_share_its_words_but_no_tests_and_nothing_empty(tmp_path: Path) -> None:
    assert found_by("Send the mail", view_of(tmp_path, MAIL)) == ["mail.py"]
    assert found_by("Send the page", view_of(tmp_path, MAIL)) == ["both.py", "page.py", "mail.py"]


def test_a_brief_that_shares_no_word_finds_nothing(tmp_path: Path) -> None:
    assert found_by("quux", view_of(tmp_path, MAIL)) == []


def test_a_brief_finds_what_is_typed_and_not_saved(tmp_path: Path) -> None:
    view = view_of(tmp_path, MAIL, {"page.py": "invoice = 1\n"})
    found = pack(view, Focus("", brief="invoice"), AMPLE).items
    assert [item.text for item in found if item.lines] == ["invoice = 1\n"]


def test_a_file_that_no_model_can_read_is_passed_over_and_it_is_said(tmp_path: Path) -> None:
    (tmp_path / "latin.py").write_bytes(b"mail = '\xe9'\n")
    found = pack(view_of(tmp_path, MAIL), Focus("", brief="mail"), AMPLE)
    assert "latin.py" not in {item.path for item in found.items}
    assert ("latin.py", "latin.py is not UTF-8 (byte 8).") in {(one.path, one.why) for one in found.left_out}


def test_a_brief_finds_what_commits_described_alike_have_changed(tmp_path: Path) -> None:
    view = view_of(tmp_path, MAIL)
    identity = ("-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false")
    outside = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    for command in (("init", "--quiet"), ("add", "page.py"), ("commit", "--quiet", "-m", "Escape the markup")):
        subprocess.run(["git", "-C", str(tmp_path), *identity, *command], check=True, env=outside)
    assert found_by("markup is escaped twice", view) == ["page.py"]


def test_of_a_long_file_the_functions_meant_are_shown_in_their_place_with_the_top_of_the_file(tmp_path: Path) -> None:
    filler = "".join(f"    def f{i}(): return {i}\n" for i in range(600))
    text = f"    #- big.py\n    import re\n    RATE = 2\n{filler}    def refund(order):\n        return -order\n"
    item = pack(view_of(tmp_path, text), Focus("", brief="refund an order"), 4000).items[0]
    names = ", ".join(f"f{i}" for i in range(12))
    assert item.text == (
        f"import re\nRATE = 2\n... 600 lines left out (3 to 602): {names} and 588 more\n"
        "def refund(order):\n    return -order\n"
    )
    assert (item.zoom, item.lines) == ("parts", ((1, 2), (603, 604)))


def test_a_class_that_the_brief_names_as_code_is_shown_whole(tmp_path: Path) -> None:
    filler = "".join(f"    def f{i}(): return 'order {i}'\n" for i in range(600))
    text = f"    #- big.py\n{filler}    class Till:\n        fee = 1\n        def empty(self): return self.fee\n"
    item = pack(view_of(tmp_path, text), Focus("", brief="Let the order take `Till` too"), 4000).items[0]
    assert item.text.endswith("class Till:\n    fee = 1\n    def empty(self): return self.fee\n")


def test_after_the_likeliest_functions_only_short_ones_are_shown_and_what_the_brief_names(tmp_path: Path) -> None:
    lines = "".join(f"        order = order + {i}\n" for i in range(60))
    steps = [f"    def refund_order_{step}(order):\n{lines}" for step in ("one", "two", "three", "four", "five")]
    short = "    def refund_order_soon(order):\n        return order\n"
    view = view_of(tmp_path, f"    #- big.py\n{''.join(steps)}{short}")
    (text,) = [item.text for item in pack(view, Focus("", brief="refund an order"), 8_000).items if item.lines]
    assert text.count("order = order + 59") == 3
    assert "def refund_order_soon" in text
    brief = "`refund_order_one`, `refund_order_two`, `refund_order_three`, `refund_order_four`: refund an order"
    (text,) = [item.text for item in pack(view, Focus("", brief=brief), 8_000).items if item.lines]
    assert text.count("order = order + 59") == 4


def test_where_the_package_passes_a_name_of_the_brief_on_its_neighbours_are_shown(tmp_path: Path) -> None:
    text = """
        #- till/__init__.py
        from .bags import bag as bag
        from .coins import count as count
        from .coins import drop as drop
        from .doors import door as door
        #- till/coins.py
        def count(coins): return len(coins)
        def drop(coins): coins.clear()
        #- till/bags.py
        def bag(): return []
        #- till/doors.py
        def door(): return 1
    """
    found = pack(view_of(tmp_path, text), Focus("", brief="Add `find` beside `drop` and `count`"), AMPLE).items
    assert [(item.lines, item.reason) for item in found if item.path == "till/__init__.py"] == [
        (((2, 3),), "where names of it are passed on")
    ]


def test_nothing_fills_the_room_that_is_not_likely_to_be_used(tmp_path: Path) -> None:
    others = "".join(f"    #- other{i}.py\n    def send(page):\n        return {i}\n" for i in range(30))
    text = f"    #- refunds.py\n    def refund_order(order):\n        return -order\n{others}"
    view = view_of(tmp_path, text)
    brief = "Let `refund_order` send an order back twice"
    assert found_by(brief, view)[0] == "refunds.py"
    assert len(found_by(brief, view)) <= 6
    few, many = (pack(view, Focus("", brief=brief), room).tokens for room in (AMPLE, 4 * AMPLE))
    assert few == many


def test_examples_are_shown_only_where_the_brief_speaks_of_them(tmp_path: Path) -> None:
    text = """
    #- shop/refund.py
    def refund(order): return order
    #- examples/refund.py
    def refund(order): return order
    """
    view = view_of(tmp_path, text)
    assert found_by("Refund an order", view) == ["shop/refund.py"]
    assert set(found_by("Refund an order in the example", view)) == {"shop/refund.py", "examples/refund.py"}


def test_a_long_file_to_work_on_is_shown_in_parts_where_a_brief_says_what_matters(tmp_path: Path) -> None:
    filler = "".join(f"    def f{i}(): return {i}\n" for i in range(600))
    view = view_of(tmp_path, f"    #- big.py\n{filler}    def refund(order):\n        return -order\n")
    item = pack(view, Focus("big.py", brief="refund an order"), 2000).items[0]
    assert item.reason.startswith("the file to work on; in parts")
    assert item.text.endswith("def refund(order):\n    return -order\n")


def test_what_may_call_a_common_name_is_no_caller(tmp_path: Path) -> None:
    text = """
    #- log.py
    class Log:
        def write(self, text): pass
        def record_twice(self, text): pass
    #- other.py
    def save(file):
        file.write("a")
    #- third.py
    def keep(log):
        log.record_twice("a")
    """
    reasons = [item.reason for item in pack(view_of(tmp_path, text), Focus("log.py"), AMPLE).items]
    assert "may call Log.write" not in reasons
    assert "may call Log.record_twice" in reasons


def test_a_file_too_large_for_the_budget_falls_back_to_the_symbol_and_an_outline(tmp_path: Path) -> None:
    filler = "".join(f"    def f{i}(): return {i}\n" for i in range(300))
    view = view_of(tmp_path, f"    #- big.py\n{filler}    def wanted(a):\n        return a\n")
    items = pack(view, Focus("big.py", "wanted"), 2600).items
    assert [(item.zoom, item.reason) for item in items] == [
        ("body", "what to work on"),
        ("signature", "the rest of that file"),
    ]
    assert items[0].text == "def wanted(a):\n    return a\n"
    assert (items[0].first_line, "def f299()" in items[1].text) == (301, True)
    assert [item.reason for item in pack(view, Focus("big.py", "wanted"), 500).items] == ["what to work on"]


def test_a_file_too_large_is_refused_where_no_symbol_is_named(tmp_path: Path) -> None:
    view = view_of(tmp_path, "    #- big.py\n" + "    NUMBERS = [1, 2, 3]\n" * 1000)
    with pytest.raises(RequestRefused, match=r"big\.py takes about [\d,]+ tokens") as told:
        pack(view, Focus("big.py"), 1000)
    assert "Choose one function or class" in told.value.next_step


def test_a_symbol_too_large_is_refused(tmp_path: Path) -> None:
    view = view_of(tmp_path, "    #- big.py\n    def wanted():\n" + "        print(1)\n" * 1000)
    with pytest.raises(RequestRefused, match="wanted takes about"):
        pack(view, Focus("big.py", "wanted"), 1000)


def test_a_file_that_is_not_there_is_refused(view: PackSource) -> None:
    with pytest.raises(FileRefused):
        pack(view, Focus("shop/nothing.py"), AMPLE)


@pytest.mark.parametrize("role", ["test_path", "style_path"])
def test_of_a_long_test_file_whole_tests_are_shown_the_nearest_first_and_the_callers_have_room(
    tmp_path: Path, role: str
) -> None:
    many = "".join(
        f"    def test_{i}():\n        first = {i}\n        assert total([{i}]) == first\n\n" for i in range(300)
    )
    near = "    def test_discount():\n        assert total([1], discount=1) == 0\n"
    view = view_of(tmp_path, SHOP + f"    #- tests/test_long.py\n    from shop.price import total\n\n{many}{near}")
    focus = replace(Focus("shop/price.py", brief="Let total take a discount"), **{role: "tests/test_long.py"})
    found = pack(view, focus, 3000)
    (tests,) = (item for item in found.items if item.path == "tests/test_long.py")
    assert tests.text.startswith("from shop.price import total\n")
    assert "def test_discount():\n    assert total([1], discount=1) == 0\n" in tests.text
    assert tests.text.count("def test_") == tests.text.count("    assert total(")
    assert "calls total" in [item.reason for item in found.items]
    assert found.tokens <= 3000


def test_a_licence_above_a_short_file_is_not_shown(tmp_path: Path) -> None:
    licence = "".join(f"    # Licence, line {n}\n" for n in range(9))
    view = view_of(tmp_path, f"    #- shop/tax.py\n{licence}\n    def tax(price):\n        return price / 10\n")
    (item,) = (item for item in pack(view, Focus("", brief="Let `tax` be a fifth"), AMPLE).items if item.lines)
    assert item.text.strip() == "def tax(price):\n    return price / 10"
    assert item.lines == ((11, 12),)


@given(budget=st.integers(400, 6000), with_tests=st.booleans(), symbol=st.sampled_from(["", "total", "Basket.worth"]))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
def test_the_budget_holds_and_nothing_is_shown_twice(
    view: PackSource, budget: int, with_tests: bool, symbol: str
) -> None:
    focus = Focus("shop/price.py", symbol, test_path="tests/test_price.py" if with_tests else "")
    found = pack(view, focus, budget)
    assert found.tokens <= budget
    assert sum(estimate_tokens(item.text) for item in found.items) <= budget
    assert found.items[0].path == "shop/price.py"
    assert shown(found).keys().isdisjoint({f"{item.path}:{item.first_line}" for item in found.left_out})
    assert all(item.reason for item in found.items)


def test_what_did_not_fit_is_named(view: PackSource) -> None:
    first = pack(view, Focus("shop/price.py"), AMPLE).items[0].tokens
    found = pack(view, Focus("shop/price.py"), int(first / 0.7) + 1)
    assert found.left_out
    assert all(item.tokens > 0 for item in found.left_out)


def test_a_fence_in_a_file_does_not_end_the_fence_around_it(tmp_path: Path) -> None:
    view = view_of(tmp_path, '    #- a.py\n    """Use\n    ```\n    x\n    ````\n    """\n')
    text = render(pack(view, Focus("a.py"), AMPLE))
    assert text.startswith("## a.py (the file to work on)\n`````\n")
    assert text.rstrip().endswith("\n`````")


@pytest.mark.parametrize("name", [".aiignore", ".rolecallignore"])
def test_a_file_that_the_repository_keeps_from_models_is_shown_nowhere(tmp_path: Path, name: str) -> None:
    view = view_of(tmp_path, SHOP)
    (tmp_path / name).write_text("# ours\nshop/money.py\ntests/\n")
    shown = {item.path for item in pack(view, Focus("shop/price.py", test_path="tests/test_price.py"), AMPLE).items}
    shown -= {"."}
    assert shown == {"shop/price.py", "shop/cart.py"}
    with pytest.raises(FileRefused, match=f"{name} keeps shop/money.py from any model"):
        pack(view, Focus("shop/money.py"), AMPLE)


def test_the_manifest_names_every_item_with_its_reason_and_says_why_others_are_not_there(view: PackSource) -> None:
    (view.workspace.root / ".aiignore").write_text("shop/money.py\n")
    whole = pack(view, Focus("shop/price.py"), AMPLE)
    small = pack(view, Focus("shop/price.py"), sum(item.tokens for item in whole.items) - 1)
    page = "\n".join(render_manifest(manifest_of("Engineer", small)))
    shown, _, left_out = page.partition("Left out:")
    for item in small.items:
        assert f"| {item.zoom} | {item.tokens} | {item.reason} | {sha256(item.text)[:12]} |" in shown
    assert ".aiignore keeps shop/money.py from any model." in left_out
    assert "there was no room for it" in left_out
    assert {entry.path for entry in manifest_of("Engineer", small).left_out} == {
        "shop/money.py",
        "tests/test_basket.py",
    }


def test_a_manifest_of_an_earlier_version_is_read(view: PackSource) -> None:
    stored = (
        '{"role": "Engineer", "budget_tokens": 9, "shown": [], "left_out": [{"path": "a.py", "reason": "calls f", '
        '"zoom": "body", "first_line": 3, "tokens": 7, "sha256": "00"}]}'
    )
    assert "| a.py:3 | body | 7 | calls f | there was no room for it |" in render_manifest(read_manifest(stored))
