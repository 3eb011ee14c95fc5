"""`rolecall tests` and `rolecall implement` as a person or a script runs them: real processes, a real terminal."""

from __future__ import annotations

import json
import os
import re
import signal
import stat
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from rolecall_server.cli.boundary import NOT_WRITTEN
from support.chat_server import ChatServer, Script, fails, hangs, says, stalls_after
from support.edits import block
from support.patience import PATIENCE_S
from support.terminal import in_terminal
from support.workspaces import FILES, GOOD_TESTS, contents, environment, write_workspace

ROLECALL = (sys.executable, "-I", "-m", "rolecall_server")
TEST_FILE = "tests/test_price.py"
IMPORT = ("from shop.price import total\n", "import pytest\n\nfrom shop.price import discount, total\n")
ADDS = "\n\ndef test_total_adds():\n    assert total([1, 2]) == 3\n"
TENTH = "\n\ndef test_discount_takes_a_tenth():\n    assert discount(10) == 9\n"
REFUSES = (
    '\n\ndef test_discount_refuses_more_than_all():\n    with pytest.raises(ValueError, match="rate"):\n'
    "        discount(1, 2)\n"
)
ALL_OF_IT = FILES[TEST_FILE].replace(*IMPORT) + ADDS + TENTH + REFUSES
SOLD = (
    "FILE: shop/price.py\n<<<<<<< SEARCH\n    return sum(items)\n=======\n    return sum(items) or 0\n>>>>>>> REPLACE\n"
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_workspace(tmp_path / "work")


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path) -> Path:
    """Where the program under test makes its copies; it must be empty when it has ended."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    return folder


def variables(root: Path, base_url: str = "", **extra: str) -> dict[str, str]:
    return environment(root.parent / "home", base_url, TMPDIR=str(root.parent / "temporary"), **extra)


def rolecall(
    root: Path, script: Script, *arguments: str | Path, cwd: Path | None = None, **extra: str
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end without a terminal, against a model that says what *script* says."""
    with ChatServer(script) as chat:
        ended = subprocess.run(
            [*ROLECALL, *map(str, arguments)],
            cwd=cwd or root,
            env=variables(root, chat.base_url, **extra),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE_S,
        )
    assert "Traceback" not in ended.stderr, ended.stderr
    assert not list((root.parent / "temporary").iterdir()), "it cleans up after itself"
    return ended


def answer(root: Path, answers: Sequence[str], *arguments: str, script: Script = GOOD_TESTS) -> tuple[int, str]:
    """Run a command in a terminal and answer its questions; the exit status and all that was shown."""
    with (
        ChatServer(script) as chat,
        in_terminal([*ROLECALL, *arguments], root, variables(root, chat.base_url), columns=200) as terminal,
    ):
        for each in answers:
            terminal.wait_for(",?] ")
            terminal.type(each)
        return terminal.wait_for_end(), terminal.shown


# Without a terminal


def test_a_damaged_store_is_set_aside_with_a_sentence_and_the_next_command_begins_anew(root: Path) -> None:
    assert rolecall(root, GOOD_TESTS, "log").returncode == 0
    (store,) = root.parent.glob("**/rolecall.db")
    store.write_bytes(b"garbage")
    ended = rolecall(root, GOOD_TESTS, "log")
    assert ended.returncode == 1
    (aside,) = store.parent.glob("rolecall.db.damaged-*[0-9]")
    assert f"StoreDamaged: Rolecall's database {store} is damaged" in ended.stderr
    assert f"was moved to {aside}." in ended.stderr
    assert rolecall(root, GOOD_TESTS, "log").returncode == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ("review", "p99999999999999999999"),
        ("log", "p99999999999999999999"),
        ("undo", "p99999999999999999999/h1"),
        ("resume", "r99999999999999999999"),
        ("tests", "shop/price.py", "--symbol", "\udcff"),
        ("tests", "shop/\udcff.py"),
        ("implement", "half \udcff", "--in", "shop/price.py"),
    ],
    ids=str,
)
def test_what_nothing_can_be_called_is_an_error_with_a_sentence(root: Path, arguments: tuple[str, ...]) -> None:
    ended = rolecall(root, GOOD_TESTS, *arguments)  # which looks for tracebacks
    assert ended.returncode == 1
    assert re.match(r"(?s).*^(NotFound|FileRefused|RequestRefused): \S", ended.stderr, re.MULTILINE), ended.stderr


def test_yes_puts_exactly_the_proposed_text_on_disk(root: Path) -> None:
    before = contents(root)
    ended = rolecall(root, GOOD_TESTS, "tests", "shop/price.py", "--yes")
    assert ended.returncode == 0, ended.stderr
    assert contents(root) == {**before, TEST_FILE: ALL_OF_IT.encode()}
    assert "Checked: 4 passed, 0 failed (before: 1 passed, 0 failed); coverage of shop/price.py 38% -> 100%." in (
        ended.stdout
    )
    assert "I cover `discount`, which nothing reaches so far." in ended.stdout
    assert "+def test_total_adds():" in ended.stdout
    assert ended.stdout.endswith(f"Wrote {TEST_FILE}.\n")
    assert "\x1b" not in ended.stdout + ended.stderr, "no colours where no terminal is"


def test_without_a_terminal_nothing_is_written_and_it_says_so(root: Path) -> None:
    before = contents(root)
    ended = rolecall(root, GOOD_TESTS, "tests", "shop/price.py")
    assert ended.returncode == 0, ended.stderr
    assert contents(root) == before
    assert "Nothing was written.\nUndecided: h1, h2, h3, h4." in ended.stdout
    assert "no terminal to ask in; --yes accepts sources, tests and documentation." in ended.stdout


def test_a_brief_is_implemented_in_a_file(root: Path) -> None:
    ended = rolecall(root, SOLD, "implement", "nothing sold is zero", "--in", "shop/price.py", "--yes")
    assert ended.returncode == 0, ended.stderr
    assert (root / "shop/price.py").read_text() == FILES["shop/price.py"].replace("sum(items)", "sum(items) or 0")
    assert "1 passed, 0 failed (before: 1 passed, 0 failed)" in ended.stdout


def test_a_brief_without_a_file_finds_the_files_it_is_about(root: Path) -> None:
    with ChatServer(SOLD) as chat:
        ended = subprocess.run(
            [*ROLECALL, "implement", "the total of the prices of nothing is zero", "--yes"],
            cwd=root / "shop",
            env=variables(root, chat.base_url),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert ended.returncode == 0, ended.stderr
        assert "## shop/price.py (its text has the words asked for)" in chat.asked[0]["messages"][1]["content"]
    assert (root / "shop/price.py").read_text() == FILES["shop/price.py"].replace("sum(items)", "sum(items) or 0")


def test_the_console_script_does_the_same(root: Path) -> None:
    script = Path(sys.executable).with_name("rolecall")
    with ChatServer(GOOD_TESTS) as chat:
        command = [script, "tests", "shop/price.py", "--yes"]
        subprocess.run(command, cwd=root, env=variables(root, chat.base_url), check=True, capture_output=True)
    assert (root / TEST_FILE).read_text() == ALL_OF_IT


def test_byte_order_mark_line_endings_and_permissions_are_kept(root: Path) -> None:
    target = root / TEST_FILE
    target.write_bytes(b"\xef\xbb\xbf" + FILES[TEST_FILE].replace("\n", "\r\n").encode())
    target.chmod(0o754)
    assert rolecall(root, GOOD_TESTS, "tests", "shop/price.py", "--yes").returncode == 0
    assert target.read_bytes() == b"\xef\xbb\xbf" + ALL_OF_IT.replace("\n", "\r\n").encode()
    assert stat.S_IMODE(target.stat().st_mode) == 0o754


def test_a_repository_without_tests_gets_its_first_test_file_with_usual_permissions(root: Path) -> None:
    (root / TEST_FILE).unlink()
    (root / "tests").rmdir()
    text = "from shop.price import total\n\n\ndef test_total():\n    assert total([1]) == 1\n"
    reply = f"FILE: {TEST_FILE}\n<<<<<<< SEARCH\n=======\n{text}>>>>>>> REPLACE\n"
    ended = rolecall(root, reply, "tests", "shop/price.py", "--yes")
    assert ended.returncode == 0, ended.stderr
    assert "Checked: 1 passed, 0 failed; coverage of shop/price.py" in ended.stdout
    assert "--- /dev/null\n+++ b/tests/test_price.py\n" in ended.stdout
    assert (root / TEST_FILE).read_text() == text
    assert stat.S_IMODE((root / TEST_FILE).stat().st_mode) == 0o666 & ~_umask()


def test_a_link_inside_the_workspace_stays_a_link_and_what_it_names_is_written(root: Path) -> None:
    (root / "shop/alias.py").symlink_to("price.py")
    better = block("shop/price.py", "    return sum(items)\n", "    return sum(items, 0)\n")
    assert rolecall(root, better, "implement", "Be explicit.", "--in", "shop/alias.py", "--yes").returncode == 0
    assert (root / "shop/alias.py").is_symlink()
    assert "sum(items, 0)" in (root / "shop/price.py").read_text()


def test_a_link_that_leads_out_is_never_written_through(root: Path) -> None:
    outside = root.parent / "outside.py"
    (root / TEST_FILE).rename(outside)
    (root / TEST_FILE).symlink_to(outside)
    rolecall(root, GOOD_TESTS, "tests", "shop/price.py", "--yes")
    assert outside.read_text() == FILES[TEST_FILE]
    assert (root / TEST_FILE).is_symlink()


def test_a_read_only_file_is_refused_and_the_hunks_stay(root: Path) -> None:
    (root / TEST_FILE).chmod(0o444)
    before = contents(root)
    ended = rolecall(root, GOOD_TESTS, "tests", "shop/price.py", "--yes")
    assert ended.returncode == 1
    assert f"FileRefused: {TEST_FILE} is read-only.\nMake it writable" in ended.stderr
    assert contents(root) == before


@pytest.mark.parametrize("file", ["price.py", "../shop/price.py"])
def test_it_runs_from_a_subfolder(root: Path, file: str) -> None:
    ended = rolecall(root, GOOD_TESTS, "tests", file, "--yes", cwd=root / "shop")
    assert ended.returncode == 0, ended.stderr
    assert (root / TEST_FILE).read_text() == ALL_OF_IT


def test_a_root_can_be_named(root: Path) -> None:
    (root / "pyproject.toml").unlink()
    ended = rolecall(root, GOOD_TESTS, "tests", root / "shop/price.py", "--root", "work", "--yes", cwd=root.parent)
    assert ended.returncode == 0, ended.stderr
    assert (root / TEST_FILE).read_text() == ALL_OF_IT


def test_where_pytest_is_missing_the_evidence_says_that_nothing_was_run_and_why(root: Path) -> None:
    python = root.parent / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", python], check=True)
    ended = rolecall(root, GOOD_TESTS, "tests", "shop/price.py", "--yes", VIRTUAL_ENV=str(python))
    assert ended.returncode == NOT_WRITTEN, ended.stderr
    told = f"Tests not run: {python}/bin/python (from VIRTUAL_ENV) has no pytest. Install it"
    assert f"\n\n{told}" in ended.stdout, "the first line of evidence"
    assert "passed" not in ended.stdout
    assert (root / TEST_FILE).read_text() == FILES[TEST_FILE]


def test_with_yes_nothing_is_written_where_no_test_ran_unless_that_is_said(root: Path) -> None:
    unrun = ("tests", "shop/price.py", "--set", "tests.run=false", "--yes")
    ended = rolecall(root, GOOD_TESTS, *unrun)
    assert ended.returncode == NOT_WRITTEN, ended.stderr
    assert f"Not written, because no test of it ran: {TEST_FILE}." in ended.stdout
    assert "or add --untested." in ended.stdout
    assert "Undecided: h1, h2, h3, h4." in ended.stdout
    assert (root / TEST_FILE).read_text() == FILES[TEST_FILE]
    assert rolecall(root, GOOD_TESTS, *unrun, "--untested").returncode == 0
    assert (root / TEST_FILE).read_text() == ALL_OF_IT


def test_programs_are_told_what_was_not_run_and_so_not_written(root: Path) -> None:
    ended = rolecall(root, SOLD, "implement", "Sum.", "--set", "tests.run=false", "--yes", "--json")
    said = json.loads(ended.stdout)
    assert ended.returncode == NOT_WRITTEN
    assert said["written"] == []
    assert said["untested"] == ["shop/price.py"]
    assert said["evidence"][0] == "Tests not run: rolecall.tests.run is off."


def test_where_a_conftest_is_broken_the_tests_that_can_run_are_run_and_what_is_left_out_is_said(root: Path) -> None:
    (root / "tests/web").mkdir()
    (root / "tests/web/conftest.py").write_text("import nonexistent\n")
    (root / "tests/web/test_page.py").write_text("def test_page():\n    assert True\n")
    ended = rolecall(root, SOLD, "implement", "Sum.", "--yes", "--json")
    said = json.loads(ended.stdout)
    assert (ended.returncode, said["untested"]) == (0, []), ended.stderr
    assert said["evidence"][0].startswith(
        "The tests in tests/web were not run: tests/web/conftest.py raises "
        "ModuleNotFoundError: No module named 'nonexistent'. Install nonexistent into "
    )
    assert said["written"] == ["shop/price.py"]


def test_where_all_tests_that_reach_a_change_are_left_out_it_is_not_written_though_others_ran(root: Path) -> None:
    (root / "tests/web").mkdir()
    (root / "tests/web/conftest.py").write_text("import nonexistent\n")
    (root / TEST_FILE).rename(root / "tests/web/test_price.py")
    (root / "tests/test_other.py").write_text("def test_other():\n    assert True\n")
    ended = rolecall(root, SOLD, "implement", "Sum.", "--yes", "--json")
    said = json.loads(ended.stdout)
    assert (ended.returncode, said["untested"]) == (NOT_WRITTEN, ["shop/price.py"]), ended.stderr
    assert said["evidence"][0].startswith(
        "Tests not run: none of those that reach the change: tests/web/conftest.py raises ModuleNotFoundError"
    )


def test_a_change_of_documentation_is_written_though_no_test_ran(root: Path) -> None:
    words = block("README.md", "", "# A shop\n")
    ended = rolecall(root, words, "implement", "Say what it is.", "--set", "tests.run=false", "--yes")
    assert ended.returncode == 0, ended.stdout
    assert (root / "README.md").read_text() == "# A shop\n"


def test_all_hunks_that_wait_are_not_accepted_unseen_where_no_test_ran_one_by_its_name_is(root: Path) -> None:
    rolecall(root, SOLD, "implement", "Sum.", "--set", "tests.run=false")
    before = contents(root)
    ended = rolecall(root, "", "review", "p1", "--accept", "all")
    assert ended.returncode == NOT_WRITTEN
    assert ended.stdout.startswith("Tests not run: rolecall.tests.run is off.\nNot written")
    assert contents(root) == before
    assert rolecall(root, "", "review", "p1", "--accept", "h1").returncode == 0
    assert contents(root) != before


@pytest.mark.parametrize("command", ["tests", "implement", "run", "resume", "review"])
def test_the_help_says_what_each_exit_code_means(root: Path, command: str) -> None:
    shown = rolecall(root, "", command, "--help").stdout
    assert "  0    done" in shown
    assert f"  {NOT_WRITTEN}    a proposal of code or tests waits and was not written" in shown
    assert "--untested" in shown


def test_running_the_tests_can_be_switched_off(root: Path) -> None:
    (root / "tests/conftest.py").write_text("open('it-ran', 'w')\nraise SystemExit(3)\n")
    ended = rolecall(root, GOOD_TESTS, "tests", "shop/price.py", "--set", "tests.run=false")
    assert ended.returncode == 0, ended.stderr
    assert "Tests not run: rolecall.tests.run is off." in ended.stdout


@pytest.mark.parametrize("setting", ["tests.run=perhaps", "tests.walk=false", "tests", "model.contextTokens=1"])
def test_a_wrong_setting_is_refused_before_anything_is_run(root: Path, setting: str) -> None:
    ended = rolecall(root, hangs(), "tests", "shop/price.py", "--set", setting)
    assert ended.returncode == 2
    assert "--set" in ended.stderr.splitlines()[-1]


def test_a_file_that_does_not_parse_goes_to_the_model_with_a_word(root: Path) -> None:
    (root / "shop/price.py").write_text(FILES["shop/price.py"] + "\n\ndef f(:\n    pass\n")
    ended = rolecall(root, SOLD, "implement", "mend it", "--in", "shop/price.py", "--set", "tests.run=false")
    assert ended.returncode == 0, ended.stderr
    assert "shop/price.py does not parse as it is (line 16: " in ended.stderr
    assert "the Engineer gets it as it is." in ended.stderr
    assert "shop/price.py does not parse as it is (line 16: " in ended.stdout, "the evidence says it too"


# JSON


def test_json_is_all_there_is_on_standard_output(root: Path) -> None:
    before = contents(root)
    ended = rolecall(root, GOOD_TESTS, "tests", "shop/price.py", "--json")
    assert ended.returncode == 0, ended.stderr
    said = json.loads(ended.stdout)
    assert said["states"] == dict.fromkeys(("h1", "h2", "h3", "h4"), "pending")
    assert said["counts"] == {"pending": 4, "edited": 0, "accepted": 0, "rejected": 0, "stale": 0}
    assert said["written"] == []
    assert said["proposal"]["evidence"]["after"] == {"passed": 4, "failed": 0, "skipped": 0, "broken": 0, "expected": 0}
    assert said["proposal"]["files"][0]["hunks"][1]["symbol"] == "test_total_adds"
    assert contents(root) == before


def test_json_with_yes_says_what_was_written(root: Path) -> None:
    said = json.loads(rolecall(root, GOOD_TESTS, "tests", "shop/price.py", "--json", "--yes").stdout)
    assert said["written"] == [TEST_FILE]
    assert set(said["states"].values()) == {"accepted"}
    assert (root / TEST_FILE).read_text() == ALL_OF_IT


def test_an_error_is_json_too(root: Path) -> None:
    ended = rolecall(root, fails(401), "tests", "shop/price.py", "--json")
    assert ended.returncode == 1
    error = json.loads(ended.stdout)["error"]
    assert error["code"] == "KeyRefused"
    assert error["nextStep"].startswith("Set OPENAI_API_KEY")


def test_the_summary_stands_after_the_diff(root: Path) -> None:
    said = rolecall(root, GOOD_TESTS, "tests", "shop/price.py").stdout
    order = [
        "Tests for shop/price.py (p1)",
        "+def test_total_adds",
        "Checked: 4 passed",
        "p1 of r1: `rolecall review p1`",
    ]
    assert sorted(order, key=said.index) == order


# In a terminal


def test_each_hunk_is_shown_before_it_is_asked_about(root: Path) -> None:
    with (
        ChatServer(GOOD_TESTS) as chat,
        in_terminal([*ROLECALL, "tests", "shop/price.py"], root, variables(root, chat.base_url)) as terminal,
    ):
        first = terminal.wait_for(",?] ")
        assert f"  {TEST_FILE}: h1, h2, h3, h4\n" in first
        assert "\n    h2 test_total_adds (+4)\n" in first, "each test is a line"
        assert "4 passed, 0 failed" in first
        assert "+def test_total_adds" in first
        assert "(1/3) h2 adds test_total_adds to tests/test_price.py (4 lines). Accept it?" in first
        assert "+def test_discount_takes_a_tenth" not in first
        terminal.type("y\n")
        second = terminal.wait_for(",?] ")
        assert "+from shop.price import discount, total" in second, "an import is shown with what uses it"
        assert "+def test_discount_takes_a_tenth" in second
        assert "(2/3) h3 adds test_discount_takes_a_tenth to tests/test_price.py (4 lines), with h1" in second
        terminal.type("q\n")
        assert terminal.wait_for_end() == 0
        assert "\x1b[32m+import pytest\x1b[0m" in terminal.raw.decode(), "additions are green"


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        (["y\n"] * 3, ALL_OF_IT),
        (["g\n"], ALL_OF_IT),
        (["x they repeat what is there\n"], FILES[TEST_FILE]),
        (["No\n", "yes\n", "n\n"], FILES[TEST_FILE].replace(*IMPORT) + TENTH),
        (["n\n"] * 3, FILES[TEST_FILE]),
        (["a\n"], ALL_OF_IT),
        (["n\n", "a\n"], FILES[TEST_FILE].replace(*IMPORT) + TENTH + REFUSES),
        (["q\n"], FILES[TEST_FILE]),
        (["y\n", "q\n"], FILES[TEST_FILE] + ADDS),
        (["y\n", "\x04"], FILES[TEST_FILE] + ADDS),
    ],
    ids=[
        "yes to all",
        "group",
        "no to group",
        "whole words",
        "no to all",
        "all",
        "all of the rest",
        "quit",
        "quit later",
        "end of input",
    ],
)
def test_answers_do_what_they_say(root: Path, answers: list[str], expected: str) -> None:
    before = contents(root)
    status, shown = answer(root, answers, "tests", "shop/price.py")
    assert status == 0, shown
    assert contents(root) == {**before, TEST_FILE: expected.encode()}
    assert ("Nothing was written." in shown) == (expected == FILES[TEST_FILE])


def test_yes_leaves_guarded_files_undecided_and_says_so(root: Path) -> None:
    reply = block("pyproject.toml", 'version = "1"\n', 'version = "2"\n') + SOLD
    arguments = ("implement", "a version", "--set", "tests.run=false", "--yes", "--untested")
    ended = rolecall(root, reply, *arguments)
    assert ended.returncode == 0, ended.stderr
    assert "pyproject.toml is guarded: tools read their settings from it" in ended.stdout
    assert "--yes does not include it; --guarded does." in ended.stdout
    assert "Wrote shop/price.py.\nUndecided: h1." in ended.stdout
    assert (root / "pyproject.toml").read_text() == FILES["pyproject.toml"]
    (root / "shop/price.py").write_text(FILES["shop/price.py"])
    rolecall(root, reply, *arguments, "--guarded")
    assert 'version = "2"' in (root / "pyproject.toml").read_text()


def test_yes_moves_no_program_into_an_environment_nor_writes_what_is_not_plainly_source(root: Path) -> None:
    script = root / "scripts/build.sh"
    script.parent.mkdir()
    script.write_text("#!/bin/sh\necho building\n")
    script.chmod(0o755)
    move = "RENAME FILE: scripts/build.sh -> venv/bin/python\n\n"
    reply = move + block("mise.toml", "", "[tools]\n") + block("docs/guide.md", "", "# Guide\n") + SOLD
    arguments = ("implement", "a version", "--set", "tests.run=false", "--yes", "--untested")
    ended = rolecall(root, reply, *arguments)
    assert ended.returncode == 0, ended.stderr
    assert "venv/bin/python is guarded: it lies in an environment" in ended.stdout
    assert "mise.toml is guarded" in ended.stdout
    assert "Wrote docs/guide.md, shop/price.py." in ended.stdout
    assert not (root / "venv").exists()
    assert not (root / "mise.toml").exists()
    assert os.access(script, os.X_OK)


def test_the_engineer_deletes_and_renames_files(root: Path) -> None:
    (root / "shop/old.py").write_text("OLD = 1\n")
    reply = (
        "I tidy up.\n\nDELETE FILE: shop/old.py\nRENAME FILE: shop/cart.py -> shop/basket.py\n\n"
        + block("shop/basket.py", "def checkout(cart):\n", "def check_out(cart):\n")
        + block("shop/py.typed", "", "")
    )
    with ChatServer(reply) as chat:
        ended = subprocess.run(
            [*ROLECALL, "implement", "delete what is old, rename the cart", "--yes"],
            cwd=root,
            env=variables(root, chat.base_url),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert "RENAME FILE: path/to/old_name.py" in chat.asked[0]["messages"][0]["content"]
    assert ended.returncode == 0, ended.stderr
    assert "deleted file\n--- a/shop/old.py\n+++ /dev/null\n" in ended.stdout
    assert "rename from shop/cart.py\nrename to shop/basket.py\n" in ended.stdout
    assert "Wrote shop/basket.py, shop/py.typed. Deleted shop/old.py." in ended.stdout
    assert (root / "shop/basket.py").read_text() == FILES["shop/cart.py"].replace("checkout", "check_out")
    assert (root / "shop/py.typed").read_bytes() == b""
    assert not (root / "shop/old.py").exists()
    assert not (root / "shop/cart.py").exists()


def test_the_engineer_is_told_to_make_a_file_that_does_not_exist_yet(root: Path) -> None:
    reply = block("shop/fee.py", "", "FEE = 1\n")
    with ChatServer(reply) as chat:
        command = [
            *ROLECALL,
            "implement",
            "a fee of one",
            "--in",
            "shop/fee.py",
            "--yes",
            "--untested",
            "--set",
            "tests.run=false",
        ]
        subprocess.run(command, cwd=root, env=variables(root, chat.base_url), check=True, capture_output=True)
        assert "Put it into shop/fee.py, which does not exist yet" in chat.asked[0]["messages"][1]["content"]
    assert (root / "shop/fee.py").read_text() == "FEE = 1\n"


@pytest.mark.parametrize(
    ("encoding", "ending", "last"),
    [("latin-1", "\n", ""), ("utf-8", "\r\n", "\r\n"), ("cp1252", "\r\n", ""), ("utf-8", "\n", "\n")],
)
def test_every_byte_outside_the_hunk_stays_in_whatever_encoding(
    root: Path, encoding: str, ending: str, last: str
) -> None:
    odd = "\x0c# é e\u0301 𝄞 \u2028 \tx" if encoding == "utf-8" else "\x0c# é\tx"
    lines = [f"# coding: {encoding}", odd, "def total(items):", "    return sum(items)", "", "LAST = 'é'"]
    before = (ending.join(lines) + last).replace(f"items):{ending}", "items):\n")  # one ending of another kind
    (root / "shop/price.py").write_bytes(before.encode(encoding))
    reply = block("shop/price.py", "    return sum(items)\n", "    return sum(items) or 'é'\n")
    ended = rolecall(
        root, reply, "implement", "é", "--in", "shop/price.py", "--yes", "--untested", "--set", "tests.run=false"
    )
    assert ended.returncode == 0, ended.stderr
    expected = before.replace("    return sum(items)" + ending, "    return sum(items) or 'é'" + ending)
    assert (root / "shop/price.py").read_bytes() == expected.encode(encoding)


def test_a_character_that_the_files_encoding_lacks_is_refused_before_anything_is_written(root: Path) -> None:
    text = "# coding: latin-1\nNAME = 'é'\n".encode("latin-1")
    (root / "shop/price.py").write_bytes(text)
    reply = block("shop/cart.py", "", "x = 1\n") + block("shop/price.py", "NAME = 'é'\n", "NAME = 'λ'\n")
    before = contents(root)
    ended = rolecall(
        root, reply, "implement", "λ", "--in", "shop/price.py", "--yes", "--untested", "--set", "tests.run=false"
    )
    assert ended.returncode == 1
    assert "shop/price.py is iso8859-1, which has no U+03BB GREEK SMALL LETTER LAMDA (line 2)." in ended.stderr
    assert contents(root) == before


def test_what_is_no_answer_is_explained_and_asked_again(root: Path) -> None:
    status, shown = answer(root, ["perhaps\n", "\n", "q\n"], "tests", "shop/price.py")
    assert status == 0
    assert shown.count("y  accept this hunk") == 2
    assert "Undecided: h1, h2, h3, h4." in shown


def test_a_hunk_that_needs_a_rejected_one_says_so(root: Path) -> None:
    reply = (
        block("shop/cart.py", "def checkout(cart):\n", "def fee():\n    return 1\n\n\ndef checkout(cart):\n")
        + "\n"
        + block("shop/cart.py", "    return total(cart)\n", "    return total(cart) + fee()\n")
    )
    _, shown = answer(root, ["n\n", "q\n"], "implement", "a fee", "--in", "shop/cart.py", script=reply)
    assert "(2/2) h2 changes checkout in shop/cart.py (-1 +1); it needs h1, which you rejected. Accept it?" in shown


def test_a_hunk_brings_what_it_needs_and_says_so(root: Path) -> None:
    reply = (
        "FILE: shop/cart.py\n<<<<<<< SEARCH\n    return total(cart)\n=======\n    return total(cart) + fee()\n"
        ">>>>>>> REPLACE\n\nFILE: shop/cart.py\n<<<<<<< SEARCH\n=======\ndef fee():\n    return 1\n>>>>>>> REPLACE\n"
    )
    arguments = ("implement", "a fee", "--in", "shop/cart.py")
    status, shown = answer(root, ["y\n"], *arguments, script=reply)
    assert status == 0
    assert "(1/2) h1 changes checkout in shop/cart.py (-1 +1), with h2, which it needs. Accept it?" in shown
    expected = FILES["shop/cart.py"].replace("return total(cart)", "return total(cart) + fee()")
    assert (root / "shop/cart.py").read_text() == expected + "\n\ndef fee():\n    return 1\n"


def test_a_file_that_changes_while_the_question_is_open_is_not_overwritten(root: Path) -> None:
    typed = FILES[TEST_FILE].replace("import total", "import total  # typed meanwhile")
    with (
        ChatServer(GOOD_TESTS) as chat,
        in_terminal([*ROLECALL, "tests", "shop/price.py"], root, variables(root, chat.base_url)) as terminal,
    ):
        terminal.wait_for(",?] ")
        (root / TEST_FILE).write_text(typed)
        terminal.type("a\n")
        assert terminal.wait_for_end() == 1
        assert f"HunkStale: {TEST_FILE}: " in terminal.shown
    assert (root / TEST_FILE).read_text() == typed


def test_a_change_elsewhere_in_the_file_is_kept(root: Path) -> None:
    (root / TEST_FILE).write_text('"""Prices."""\n\nimport os\n\nNAME = os.name\n\n\ndef f():\n    pass\n\n\n' * 3)
    reply = f"FILE: {TEST_FILE}\n<<<<<<< SEARCH\n=======\ndef test_it():\n    assert f() is None\n>>>>>>> REPLACE\n"
    base = (root / TEST_FILE).read_text()
    with (
        ChatServer(reply) as chat,
        in_terminal([*ROLECALL, "tests", "shop/price.py"], root, variables(root, chat.base_url)) as terminal,
    ):
        terminal.wait_for(",?] ")
        (root / TEST_FILE).write_text("# typed meanwhile\n" + base)
        terminal.type("y\n")
        assert terminal.wait_for_end() == 0, terminal.shown
    assert (root / TEST_FILE).read_text().startswith("# typed meanwhile\n" + base.rstrip("\n"))
    assert (root / TEST_FILE).read_text().endswith("def test_it():\n    assert f() is None\n")


def test_ctrl_c_at_a_question_writes_nothing(root: Path) -> None:
    before = contents(root)
    status, shown = answer(root, ["y\n", "\x03"], "tests", "shop/price.py")
    assert status == 130
    assert "Cancelled; nothing was written." in shown
    assert contents(root) == before


def test_ctrl_c_in_the_middle_of_a_model_call_leaves_nothing_behind(root: Path, temporary: Path) -> None:
    before = contents(root)
    with (
        ChatServer(stalls_after("I will ")) as chat,
        in_terminal([*ROLECALL, "tests", "shop/price.py"], root, variables(root, chat.base_url)) as terminal,
    ):
        terminal.wait_for("the model is writing (7 characters)")
        assert list(temporary.iterdir()), "the copy of the workspace is there"
        terminal.type("\x03")
        assert terminal.wait_for_end() == 130
        assert "r1 was stopped; `rolecall log r1 --sent`" in terminal.shown
        assert "Cancelled; nothing was written." in terminal.shown
        assert "Traceback" not in terminal.shown
        assert chat.disconnected.wait(PATIENCE_S)
    assert not list(temporary.iterdir())
    assert contents(root) == before


IN_BACKGROUND = ("/bin/sh", "-c", 'trap "" INT; exec "$@"', "sh")
"""As a shell starts something in the background: with interrupts ignored."""


@pytest.mark.parametrize("prefix", [(), IN_BACKGROUND], ids=["in front", "in the background"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP], ids=["kill", "closed terminal"])
def test_a_kill_cleans_up_as_ctrl_c_does(
    root: Path, temporary: Path, number: signal.Signals, prefix: tuple[str, ...]
) -> None:
    with ChatServer(stalls_after("I will ")) as chat:
        command = [*prefix, *ROLECALL, "tests", "shop/price.py"]
        with subprocess.Popen(command, cwd=root, env=variables(root, chat.base_url), stderr=subprocess.PIPE) as process:
            chat.wait_until_asked()
            process.send_signal(number)
            assert process.wait(PATIENCE_S) == 130
    assert not list(temporary.iterdir())


def test_what_a_terminal_would_obey_is_spelled_out(root: Path) -> None:
    evil = "\x1b]0;owned\x07\x1b[2J\u202egnp.exe\u2066\r\u200b[bold]plain[/bold]"
    text = f'NOTE = "{evil}"\n'.replace("\r", "")
    reply = f"I add a note {evil}.\n\nFILE: shop/note.py\n<<<<<<< SEARCH\n=======\n{text}>>>>>>> REPLACE\n"
    with (
        ChatServer(reply) as chat,
        in_terminal(
            [*ROLECALL, "implement", "a note", "--in", "shop/price.py"], root, variables(root, chat.base_url)
        ) as terminal,
    ):
        terminal.wait_for(",?] ")
        terminal.type("y\n")
        assert terminal.wait_for_end() == 0, terminal.shown
    raw = terminal.raw.decode()
    assert not set("\x07\u202e\u2066\u200b") & set(raw)
    assert "\x1b]0;" not in raw
    assert "\x1b[2J" not in raw
    spelled = "<U+001B>]0;owned<U+0007><U+001B>[2J<U+202E>gnp.exe<U+2066>"
    assert f"I add a note {spelled}" in terminal.shown
    assert f'+NOTE = "{spelled}<U+200B>[bold]plain[/bold]"' in terminal.shown
    assert (root / "shop/note.py").read_text() == text


def test_what_a_model_says_instead_of_edits_is_spelled_out_too(root: Path) -> None:
    ended = rolecall(root, "No. \x1b[2J\u202e[red]no[/red]", "tests", "shop/price.py")
    assert ended.returncode == 1
    assert "NothingToChange: The model proposes no change. It said: No. <U+001B>[2J<U+202E>[red]no[/red]" in (
        ended.stderr
    )


# Errors


@pytest.mark.parametrize(
    ("script", "code", "next_step"),
    [
        (fails(401, "bad key"), "KeyRefused", "OPENAI_API_KEY"),
        (fails(404, "no such model", "model_not_found"), "UnknownModel", "ROLECALL_MODEL"),
        (fails(400, "too long", "context_length_exceeded"), "ContextOverflow", "contextTokens"),
        (fails(429, "slow down"), "RateLimited", ""),
        (says("half", finish_reason="length"), "ReplyCut", ""),
        (says("", finish_reason="content_filter"), "ReplyRefused", "another model"),
        ("I would rather not.", "NothingToChange", "say more of what you want"),
    ],
    ids=lambda value: value if isinstance(value, str) and value.isidentifier() else "",
)
def test_an_error_is_told_once_with_its_next_step(root: Path, script: Script, code: str, next_step: str) -> None:
    before = contents(root)
    ended = rolecall(root, script, "tests", "shop/price.py", "--yes")
    assert ended.returncode == 1
    assert ended.stdout == ""
    _, error, step = ended.stderr.splitlines()
    assert error.startswith(f"{code}: ")
    assert next_step in step
    assert step.endswith(".")
    assert contents(root) == before


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["tests", "shop/nothing.py"], "FileRefused", "shop/nothing.py does not exist"),
        (["tests", "../outside.py", "--root", "."], "FileRefused", "lies outside the workspace"),
        (["tests", "pyproject.toml"], "FileRefused", "is no Python file"),
        (["tests", "tests/test_price.py"], "FileRefused", "is a test file itself"),
        (["tests", "shop"], "FileRefused", "is not a regular file"),
        (["tests", "binary.py"], "FileRefused", "is a binary file"),
        (["tests", "latin.py"], "FileRefused", "is not UTF-8 (byte 7)"),
        (["tests", "empty.py"], "FileRefused", "empty.py is empty"),
        (["tests", "huge.py"], "FileRefused", "is larger than 2,000,000 bytes"),
        (["implement", "  "], "BriefMissing", "needs a brief"),
        (["implement", "a fee", "--root", "nowhere"], "FileRefused", "nowhere is no folder"),
    ],
    ids=lambda value: value if isinstance(value, str) and " " in value else "",
)
def test_bad_input_is_refused_before_a_model_is_asked(root: Path, arguments: list[str], code: str, said: str) -> None:
    (root.parent / "outside.py").write_text("x = 1\n")
    (root / "binary.py").write_bytes(b"x = 1\0")
    (root / "empty.py").write_bytes(b"\n")
    (root / "latin.py").write_bytes(b"name = '\xe9'"[:7] + b"\xe9'\n")
    (root / "huge.py").write_bytes(b"x = 1\n" * 400_000)
    with ChatServer(hangs()) as chat:
        ended = subprocess.run(
            [*ROLECALL, *arguments],
            cwd=root,
            env=variables(root, chat.base_url),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert not chat.asked
    assert ended.returncode == 1, ended.stderr
    *_, error, step = ended.stderr.splitlines()
    assert error.startswith(f"{code}: ")
    assert said in error
    assert step.endswith(".")


def test_without_a_model_the_three_ways_to_configure_one_are_named(root: Path) -> None:
    ended = subprocess.run(
        [*ROLECALL, "implement", "Add a discount"],
        cwd=root,
        env=variables(root),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 1
    assert ended.stderr.startswith("NoModelConfigured: ")
    for way in ("OPENAI_API_KEY", "ROLECALL_BASE_URL", "--set model.name=NAME"):
        assert way in ended.stderr


def test_what_was_tried_before_the_model_failed_is_offered_and_the_run_counts_as_failed(root: Path) -> None:
    wrong = GOOD_TESTS.replace("== 9", "== 8")
    ended = rolecall(root, [wrong, fails(401, "bad key")], "tests", "shop/price.py", "--yes")
    assert ended.returncode == 1
    assert "KeyRefused: cut short; this is the best of what there was.\n" in ended.stderr
    assert re.search(r"^Checked: 3 passed, 0 failed .*; The work was cut short: .*[^.]\.$", ended.stdout, re.MULTILINE)
    assert "Left out: tests/test_price.py::test_discount_takes_a_tenth: fails: " in ended.stdout
    written = (root / TEST_FILE).read_text()
    assert "test_total_adds" in written
    assert "test_discount_takes_a_tenth" not in written


def test_a_folder_of_data_that_cannot_be_made_is_an_error_with_a_next_step(root: Path) -> None:
    (root.parent / "in-the-way").write_text("")
    ended = rolecall(root, hangs(), "tests", "shop/price.py", XDG_DATA_HOME=str(root.parent / "in-the-way"))
    assert ended.returncode == 1
    assert ended.stderr.startswith("StoreUnavailable: ")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
