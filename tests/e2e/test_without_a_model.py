"""Tests for the current file where no model is configured: written from what the code does, proposed as ever."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support.editor import editing, until
from support.patience import PATIENCE_S
from support.workspaces import FILES, contents, environment, write_workspace

ROLECALL = (sys.executable, "-I", "-m", "rolecall_server")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_workspace(tmp_path / "work")


def rolecall(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command to its end without a terminal and without a model."""
    ended = subprocess.run(
        [*ROLECALL, *arguments],
        cwd=root,
        env=environment(root.parent / "home"),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert "Traceback" not in ended.stderr, ended.stderr
    return ended


def test_the_tests_are_added_to_those_there_are_and_pass(root: Path) -> None:
    before = contents(root)
    ended = rolecall(root, "tests", "shop/price.py", "--yes", "--json")
    assert ended.returncode == 0, ended.stderr
    proposal: dict[str, Any] = json.loads(ended.stdout)["proposal"]
    after = contents(root)
    assert {path for path in after if after[path] != before.get(path)} == {"tests/test_price.py"}
    text = after["tests/test_price.py"].decode()
    assert "def test_total_of_nothing():\n    assert total([]) == 0\n" in text
    assert "from shop.price import discount, total\n" in text
    assert 'with pytest.raises(ValueError, match="rate"):' in text
    evidence = proposal["evidence"]
    assert evidence["ran"]
    assert evidence["after"]["failed"] == 0
    assert evidence["after"]["passed"] > evidence["before"]["passed"] == 1
    assert evidence["model"] == ""
    assert evidence["coverage"][0]["after"] == 1


def test_the_proposal_says_that_no_model_wrote_it_what_was_chosen_and_what_was_gained(root: Path) -> None:
    ended = rolecall(root, "tests", "shop/price.py")
    assert "without a model" in ended.stderr
    assert "Written without a model." in ended.stdout
    assert "No language model is configured." in ended.stdout
    assert "Tested: discount, because it is public and the tests there are leave something out." in ended.stdout
    reached = "Of shop/price.py the new tests reach 3 of 6 lines and 2 of 2 branches that no test reaches without them."
    assert reached in ended.stdout
    assert contents(root) == {path: text.encode() for path, text in FILES.items()}


SHELF = "class Shelf:\n    def label(self, n):\n        return 'full' if n > 9 else 'free'\n"
BY_NAME = """
import importlib


def test_shelf():
    shelf = importlib.import_module("shop." + "shelf").Shelf()
    assert [shelf.label(n) for n in (1, 20)] == ["free", "full"]
"""


def test_lines_that_a_test_reaches_to_which_nothing_leads_are_not_told_as_reached_by_none(root: Path) -> None:
    (root / "shop/shelf.py").write_text(SHELF)
    (root / "tests/test_by_name.py").write_text(BY_NAME)
    ended = rolecall(root, "tests", "shop/shelf.py", "--json")
    assert ended.returncode == 0, ended.stderr
    evidence = json.loads(ended.stdout)["proposal"]["evidence"]
    assert evidence["coverage"][0]["before"] == 1
    assert "the new tests reach 0 of 3 lines" in evidence["notes"][0]


def test_where_the_rest_of_the_suite_may_not_run_the_evidence_says_so(root: Path) -> None:
    ended = rolecall(root, "tests", "shop/price.py", "--set", "tests.suiteSeconds=0")
    assert "that the one test run beforehand does not reach." in ended.stdout
    assert "The rest of the suite did not run beforehand, and may reach them too." in ended.stdout


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "def rest(long):\n    if long:  # pragma: no cover\n        pass\n",
            "that the tests there are do not reach, and of 1 fault put into it they notice none.",
        ),
        ("def rest(long):\n    pass\n", "that the tests there are do not reach."),
    ],
    ids=["faults that go unnoticed", "no faults to try"],
)
def test_tests_that_show_nothing_new_are_not_proposed(root: Path, text: str, says: str) -> None:
    (root / "shop/rest.py").write_text(text)
    of_rest = "from shop.rest import rest\n\n\ndef test_rest():\n    assert rest(False) is None\n"
    (root / "tests/test_rest.py").write_text(of_rest)
    ended = rolecall(root, "tests", "shop/rest.py", "--yes")
    assert ended.returncode == 1
    assert (
        "Nothing is proposed: tests were written, but they reach no line and no branch of shop/rest.py" in ended.stderr
    )
    assert says in ended.stderr
    assert (root / "tests/test_rest.py").read_text() == of_rest


def test_a_plug_in_is_tested_through_what_loads_it(root: Path) -> None:
    (root / "shop/upper.py").write_text(
        "from shop import engine\n\n\nclass _Upper:\n    def change(self, text):\n        return text.upper()\n\n\n"
        'engine.known["shop.upper"] = _Upper()\n'
    )
    (root / "shop/engine.py").write_text(
        "import importlib\n\nknown = {}\n\n\ndef convert(text, plug_in):\n"
        "    importlib.import_module(plug_in)\n    return known[plug_in].change(text)\n"
    )
    (root / "tests/test_engine.py").write_text(
        "from shop.engine import convert\n\n\ndef test_convert():\n    convert('a', 'shop.upper')\n"
    )
    ended = rolecall(root, "tests", "shop/upper.py", "--yes")
    assert ended.returncode == 0, ended.stderr
    assert "Reached as the existing tests do, through functions of other modules: convert." in ended.stdout
    text = (root / "tests/test_upper.py").read_text()
    assert "from shop.engine import convert\n" in text
    assert "assert convert('a', 'shop.upper') == 'A'\n" in text


def test_one_function_alone_is_tested_where_it_is_named(root: Path) -> None:
    before = (root / "tests/test_price.py").read_text()
    ended = rolecall(root, "tests", "shop/price.py", "--symbol", "discount", "--yes")
    assert ended.returncode == 0, ended.stderr
    added = (root / "tests/test_price.py").read_text().removeprefix(before)
    assert "discount(" in added
    assert "total(" not in added.rpartition("def test_discount")[2]


def test_what_its_tests_show_already_is_not_tested_again(root: Path) -> None:
    (root / "shop/shelf.py").write_text(SHELF)
    (root / "tests/test_by_name.py").write_text(
        BY_NAME.replace("(1, 20)", "(1, 9, 10, 11)").replace('["free", "full"]', '["free", "free", "full", "full"]')
    )
    ended = rolecall(root, "tests", "shop/shelf.py", "--yes")
    assert ended.returncode == 1
    assert re.search(r"no call of shop/shelf.py shows more than its tests do, which notice \d+ faults", ended.stderr)


@pytest.mark.parametrize(
    ("text", "code", "says"),
    [
        ("import no_such_module\n\n\ndef f(x): return x\n", "CodeNotRun", "No module named 'no_such_module'"),
        ("LIMIT = 3\n", "NothingToTest", "has nothing public to call"),
        ("import time\n\n\ndef f(): return time.time()\n", "NothingToTest", "differ from run to run"),
        ("def f(:\n", "FileRefused", "does not parse"),
    ],
)
def test_what_cannot_be_tested_is_an_error_with_the_reason(root: Path, text: str, code: str, says: str) -> None:
    (root / "shop" / "other.py").write_text(text)
    ended = rolecall(root, "tests", "shop/other.py")
    assert ended.returncode == 1
    assert ended.stderr.splitlines()[-2].startswith(f"{code}: ")
    assert says in ended.stderr


def test_where_pytest_cannot_read_the_test_file_there_is_the_tests_get_one_of_their_own(root: Path) -> None:
    tests = root / "tests/test_price.py"
    broken = f"import no_such_library\n{tests.read_text()}"
    tests.write_text(broken)
    ended = rolecall(root, "tests", "shop/price.py", "--yes")
    assert ended.returncode == 0, ended.stderr
    assert "They are in a file of their own, as pytest cannot read tests/test_price.py: " in ended.stdout
    assert "No module named 'no_such_library'" in ended.stdout
    assert "def test_total" in (root / "tests/test_price_characterization.py").read_text()
    assert tests.read_text() == broken


def test_what_pytest_cannot_read_is_not_proposed(root: Path) -> None:
    for name in ("test_price", "test_price_characterization"):
        (root / f"tests/{name}.py").write_text("import no_such_library\n")
    ended = rolecall(root, "tests", "shop/price.py")
    assert ended.returncode == 1
    assert "NothingToTest: pytest could not read the tests that were written" in ended.stderr
    assert "no_such_library" in ended.stderr


def test_tests_that_could_not_run_are_not_written_by_a_general_yes(root: Path) -> None:
    (root / "tests/conftest.py").write_text("import no_such_library\n")
    before = contents(root)
    ended = rolecall(root, "tests", "shop/price.py", "--yes")
    assert "Tests not run: none of those that reach the change: tests/conftest.py raises " in ended.stdout
    assert "Not written, because no test of it ran: tests/test_price.py." in ended.stdout
    assert contents(root) == before


def test_a_test_that_failed_before_stays_and_is_not_told_as_taken_out(root: Path) -> None:
    tests = root / "tests/test_price.py"
    tests.write_text(f"{tests.read_text()}\n\ndef test_that_fails():\n    assert total([1]) == 2\n")
    ended = rolecall(root, "tests", "shop/price.py", "--yes")
    assert ended.returncode == 0, ended.stderr
    assert "Taken out" not in ended.stdout
    assert "def test_that_fails():" in tests.read_text()
    assert "def test_discount" in tests.read_text()


def test_where_tests_may_not_run_none_are_written(root: Path) -> None:
    ended = rolecall(root, "tests", "shop/price.py", "--set", "rolecall.tests.run=false")
    assert ended.returncode == 1
    assert "CodeNotRun: " in ended.stderr


async def test_an_editor_gets_hunks_that_it_accepts(root: Path) -> None:
    async with editing(root, environment(root.parent / "home")) as editor:
        uri = editor.open("shop/price.py")
        reply = await editor.execute("rolecall.tests.generate", uri=uri)
        assert "runId" in str(reply)
        await until(lambda: any("Tests for shop/price.py" in message for message in editor.messages), 60)
        assert "passed, 0 failed" in editor.messages[-1]
