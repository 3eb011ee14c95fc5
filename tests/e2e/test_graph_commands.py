"""`rolecall graph` and `rolecall rank` as a person or a program runs them; the map in a real browser."""

from __future__ import annotations

import html
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote

import pytest

from rolecall_analysis import Index
from rolecall_server.craft.history import SuiteHistoryStore
from rolecall_server.sandbox import TestResult, TestRun
from support.patience import PATIENCE_S
from support.stores import open_store
from support.terminal import in_terminal
from support.workspaces import environment, write_workspace

ROLECALL = (sys.executable, "-I", "-m", "rolecall_server")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_workspace(tmp_path / "work")


def rolecall(root: Path, *arguments: str | Path, asked: str = "") -> subprocess.CompletedProcess[str]:
    ended = subprocess.run(
        [*ROLECALL, *map(str, arguments)],
        cwd=root,
        env=environment(root.parent / "home"),
        input=asked,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert "Traceback" not in ended.stderr, ended.stderr
    assert "\x1b" not in ended.stdout + ended.stderr, "no colours where no terminal is"
    return ended


def test_imports_are_told_as_json_and_nothing_else_is(root: Path) -> None:
    ended = rolecall(root, "graph", "imports", ".", "--json")
    assert ended.returncode == 0
    assert not ended.stderr
    imports = json.loads(ended.stdout)
    assert imports["shop.cart"] == ["shop.price"]
    assert imports["shop.price"] == []


def test_words_find_symbols_of_the_packages_that_are_installed_for_the_folder(root: Path) -> None:
    packages = root / ".venv" / "lib" / "python3.11" / "site-packages"
    packages.mkdir(parents=True)
    (root / ".venv" / "bin").mkdir()
    (root / ".venv" / "bin" / "python").symlink_to(sys.executable)
    (root / ".venv" / "pyvenv.cfg").write_text(f"home = {Path(sys.executable).parent}\n")
    (packages / "acme.py").write_text('def lift(anvil):\n    """Lift a weight."""\n\n\ndef drop(): ...\n')
    (root / "user.py").write_text("import acme\n")
    ended = rolecall(root, "graph", "packages", ".", "--about", "lift weights")
    assert (ended.returncode, ended.stdout) == (0, "acme.lift(anvil) - Lift a weight.\n")
    (found,) = json.loads(rolecall(root, "graph", "packages", ".", "--about", "lift weights", "--json").stdout)
    assert (found["name"], found["line"], found["path"]) == ("acme.lift", 1, str(packages / "acme.py"))
    missing = rolecall(root, "graph", "packages", ".", "--about", "lift", "--package", "nothing_like_it")
    assert missing.returncode == 1
    assert "No installed package is called nothing_like_it" in missing.stderr


def test_a_test_that_was_seen_to_run_what_changed_is_told_first_with_that_reason(root: Path) -> None:
    by_name = "def test_by_name(): assert __import__('sh' + 'op').cart.checkout([]) == 0\n"
    (root / "tests" / "test_by_name.py").write_text(by_name)
    index = Index(root.resolve())
    index.scan()
    store = open_store(root.parent / "home" / "data" / "rolecall" / "rolecall.db")
    test = "tests/test_by_name.py::test_by_name"
    ran = frozenset({("tests/test_by_name.py", 1), ("shop/cart.py", 4)})
    outcomes = (TestResult(test, "passed"),)
    SuiteHistoryStore(store, root.resolve(), index.snapshot()).learn(
        TestRun("ran", outcomes=outcomes, functions={test: ran})
    )
    index.close()
    told = json.loads(rolecall(root, "graph", "tests", ".", "--of", "shop/cart.py::checkout", "--json").stdout)
    assert (told[0]["path"], told[0]["tests"]) == ("tests/test_by_name.py", [test])
    assert told[0]["reason"] == "test_by_name ran checkout when last seen"
    shown = rolecall(root, "graph", "tests", ".", "--of", "shop/cart.py::checkout").stdout
    assert "test_by_name ran checkout when last seen" in shown


def test_the_tests_to_run_for_a_change_are_told_best_first_with_the_reason_for_each(root: Path) -> None:
    (root / "tests").mkdir(exist_ok=True)
    (root / "tests" / "test_selected.py").write_text(
        "from shop.cart import checkout\n\n\ndef test_it(): assert checkout\n"
    )
    told = json.loads(rolecall(root, "graph", "tests", ".", "--of", "shop/cart.py::checkout", "--json").stdout)
    (selected,) = [one for one in told if one["path"] == "tests/test_selected.py"]
    assert selected["reason"] == "test_it calls checkout"
    assert selected["certain"]
    assert [one["score"] for one in told] == sorted((one["score"] for one in told), reverse=True)
    shown = rolecall(root, "graph", "tests", ".", "--of", "shop/cart.py").stdout
    assert "tests/test_selected.py" in shown
    refused = rolecall(root, "graph", "tests", ".", "--of", "shop/nothing.py")
    assert refused.returncode == 1
    assert "no file the graph knows" in refused.stderr


def test_a_package_is_told_under_its_own_name(root: Path) -> None:
    (root / "shop" / "__init__.py").touch()
    assert json.loads(rolecall(root, "graph", "imports", "shop", "--json").stdout) == {
        "shop": [],
        "shop.cart": ["shop.price"],
        "shop.price": [],
    }


def test_calls_are_told_as_json_with_their_certainty(root: Path) -> None:
    calls = json.loads(rolecall(root, "graph", "calls", ".", "--json").stdout)
    assert calls["shop.cart.checkout"] == [{"callee": "shop.price.total", "certain": True}]


def test_symbols_are_listed_and_found(root: Path) -> None:
    symbols = json.loads(rolecall(root, "graph", "symbols", ".", "--json").stdout)
    total = next(symbol for symbol in symbols if symbol["name"] == "total")
    assert (total["path"], total["line"], total["kind"]) == ("shop/price.py", 4, "function")
    assert total["docstring"] == "The sum of the prices."
    found = rolecall(root, "graph", "symbols", ".", "--find", "chk").stdout
    assert found == "checkout  function  shop/cart.py:4\n"


def test_impact_says_who_is_touched_and_by_which_way(root: Path) -> None:
    ended = rolecall(root, "graph", "impact", ".", "--of", "shop/price.py::total", "--json")
    touched = {(one["path"], one["name"]): one["certain"] for one in json.loads(ended.stdout)["dependents"]}
    assert touched["shop/cart.py", "checkout"] is True
    assert touched["tests/test_price.py", "test_total_of_nothing"] is True
    shown = rolecall(root, "graph", "impact", root, "--of", "shop/price.py").stdout
    assert "certain   shop/cart.py::checkout" in shown


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("graph", "stats", "nowhere"), "FileRefused: nowhere is no folder."),
        (("graph", "impact", ".", "--of", "shop/none.py"), "NotFound: shop/none.py is no file the graph knows."),
        (("graph", "impact", ".", "--of", "shop/cart.py::pay"), "NotFound: shop/cart.py defines no pay."),
        (("graph", "impact", ".", "--of", "../elsewhere.py"), "FileRefused: ../elsewhere.py is not in"),
        (("graph", "unbound", "nothing.py"), "nothing.py cannot be read: No such file or directory."),
        (("rank", "."), "BriefMissing: It is not said what to look for."),
        (("rank", ".", "--seed", "shop/none.py"), "NotFound: shop/none.py is no file the graph knows."),
    ],
)
def test_what_cannot_be_done_is_said_in_a_sentence(root: Path, arguments: tuple[str, ...], why: str) -> None:
    ended = rolecall(root, *arguments)
    assert ended.returncode == 1
    assert ended.stderr.startswith(why)
    assert not ended.stdout


def test_names_that_may_lack_a_value_are_told_line_by_line(root: Path) -> None:
    (root / "shop" / "tax.py").write_text("def tax(rate):\n    if rate:\n        due = rate\n    return due\n")
    ended = rolecall(root, "graph", "unbound", "shop", "tests/test_price.py")
    assert ended.stdout == "shop/tax.py:4:12: due may have no value here\n"
    assert ended.returncode == 0


def test_words_find_files_and_functions(root: Path) -> None:
    shown = rolecall(root, "rank", ".", "the discount of a price").stdout
    assert shown.split()[:2] == ["1", "shop/price.py"]
    answered = json.loads(rolecall(root, "rank", ".", "the discount", "--json", "--limit", "1").stdout)
    assert [one["item"] for one in answered] == ["shop/price.py"]


def test_questions_are_answered_line_by_line(root: Path) -> None:
    asked = json.dumps({"repo_dir": str(root), "query": {"message": "discount"}}) + "\n"
    answers = rolecall(root, "rank", "--serve", asked=asked * 2).stdout.splitlines()
    assert [json.loads(answer)[0] for answer in answers] == ["shop/price.py", "shop/price.py"]


def test_a_reader_that_has_seen_enough_is_no_error(root: Path) -> None:
    (root / "many.py").write_text("".join(f"def f{n}(): ...\n" for n in range(5_000)))
    command = [*ROLECALL, "graph", "symbols", ".", "--json"]
    with subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as program:
        assert program.stdout is not None
        assert program.stderr is not None
        program.stdout.readline()
        program.stdout.close()
        assert program.stderr.read() == b""
        assert program.wait(PATIENCE_S) == 1


@pytest.mark.skipif(not hasattr(signal, "SIGINT") or os.name == "nt", reason="a POSIX terminal is needed")
def test_ctrl_c_ends_a_server_of_answers_tidily(root: Path) -> None:
    with in_terminal([*ROLECALL, "rank", "--serve"], root, environment(root.parent / "home")) as terminal:
        terminal.type(json.dumps({"repo_dir": str(root), "query": {"message": "discount"}}) + "\n")
        terminal.wait_for('["shop/price.py"')
        terminal.type("\x03")
        assert terminal.wait_for_end() == 130
        assert "Cancelled." in terminal.shown
        assert "Traceback" not in terminal.shown


def shown_in_browser(chromium: str, page: Path, address: str, profile: Path) -> str:
    """The text of the panel once the page's own scripts have run."""
    flags = ["--headless", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
    flags += ["--no-sandbox"] if os.geteuid() == 0 else []
    dumped = subprocess.run(
        [chromium, *flags, f"--user-data-dir={profile}", "--dump-dom", f"{page.as_uri()}#{quote(address, safe='')}"],
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE_S,
    )
    panel = dumped.stdout.partition('<aside id="detail"')[2].partition("</aside>")[0].partition(">")[2]
    return html.unescape(re.sub(r"<[^>]*>", " ", panel))


def test_the_map_tells_who_imports_and_who_calls(root: Path, tmp_path: Path, chromium: str) -> None:
    page = tmp_path / "map.html"
    ended = rolecall(root, "graph", "view", ".", "--output", page)
    assert ended.stderr == f"Wrote {page}; open it in a browser.\n"
    module = shown_in_browser(chromium, page, "shop/price.py", tmp_path / "profile")
    assert module.split()[:2] == ["shop.price", "shop/price.py"]
    assert re.search(r"Imported by \(2\)\s+shop\.cart\s+tests\.test_price", module)
    function = shown_in_browser(chromium, page, "shop/price.py::total", tmp_path / "profile")
    assert re.search(r"Called by \(2\)\s+function\s+checkout\s+shop/cart\.py", function)
    nothing = shown_in_browser(chromium, page, "", tmp_path / "profile")
    assert "classes and functions" in nothing


MARKUP = "[link=https:x]y[link].py"
CLOSING = "sub[/x]"
"""Two folders, one in the other, that together read as the end of something."""


@pytest.mark.parametrize("arguments", ["rank . total", "graph calls .", "graph symbols .", "graph stats ."])
def test_markup_in_names_of_files_and_folders_is_a_part_of_the_name(root: Path, arguments: str) -> None:
    (root / CLOSING).mkdir(parents=True)
    (root / CLOSING / MARKUP).write_text("def total(): return add()\n\ndef add(): return 1\n")
    with in_terminal([*ROLECALL, *arguments.split()], root, environment(root.parent / "home")) as terminal:
        assert terminal.wait_for_end() == 0
        assert b"\x1b]8;" not in terminal.raw
        assert MARKUP in terminal.shown or "stats" in arguments
