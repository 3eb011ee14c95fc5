"""`rolecall run` and `rolecall resume` as a person or a script runs them, with the tests really run."""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from rolecall_server.model import ChatMessage
from support.chat_server import ChatServer
from support.edits import block
from support.patience import PATIENCE_S
from support.shop_team import BRIEF, REQUIREMENTS, TASKS, TAX, shop_speeches
from support.team_model import fenced, who_is_asked
from support.terminal import Terminal, in_terminal
from support.workspaces import FILES, environment, write_workspace

EVERYBODY = "product_manager,architect,project_manager,engineer,qa_engineer,reviewer"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_workspace(tmp_path / "work")


def rolecall(root: Path, *commands: Sequence[str], **others: Any) -> tuple[subprocess.CompletedProcess[str], list[str]]:
    """The end of the last of *commands*, and who was asked in all of them."""
    speeches, asked = shop_speeches(**others), list[str]()

    def answer(body: Mapping[str, Any]) -> str:
        who = who_is_asked([ChatMessage(one["role"], one["content"]) for one in body["messages"]])
        asked.append(who)
        said = speeches[who]
        said = said[min(asked.count(who), len(said)) - 1] if isinstance(said, list) else said
        assert isinstance(said, str)
        return said

    with ChatServer(answer) as chat:
        ended = subprocess.CompletedProcess([], 0, "", "")
        for command in commands:
            ended = subprocess.run(
                [sys.executable, "-I", "-m", "rolecall_server", *command],
                cwd=root,
                env=environment(root.parent / "home", chat.base_url),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
                timeout=PATIENCE_S,
            )
            assert "Traceback" not in ended.stderr, ended.stderr
    return ended, asked


def test_yes_lands_the_change_of_the_whole_team_with_tests_that_pass(root: Path) -> None:
    ended, _ = rolecall(root, ["run", BRIEF, "--roles", EVERYBODY, "--yes"])
    assert ended.returncode == 0, ended.stderr
    assert "Checked: 3 passed, 0 failed (before: 1 passed, 0 failed)" in ended.stdout
    assert "def total(items, tax=0):" in (root / "shop/price.py").read_text()
    assert (root / "tests/test_tax.py").exists()


def test_a_task_that_is_missing_is_offered_by_resume_and_done_where_that_is_wanted(root: Path) -> None:
    shown, _ = rolecall(
        root,
        ["run", BRIEF, "--roles", "product_manager,architect,project_manager,engineer"],
        ["review", "p1", "--json"],
    )
    hunks = {
        hunk["id"]: change["path"]
        for change in json.loads(shown.stdout)["proposal"]["files"]
        for hunk in change["hunks"]
    }
    price = ",".join(one for one, path in hunks.items() if path == "shop/price.py")
    receipt = ",".join(one for one, path in hunks.items() if path == "shop/receipt.py")
    ended, asked = rolecall(
        root, ["review", "p1", "--accept", price, "--untested"], ["review", "p1", "--reject", receipt], ["resume", "r1"]
    )
    assert "T2 is not done: shop/receipt.py does not exist" in ended.stderr, ended.stdout
    assert "`rolecall resume r1 --missing` has it done." in ended.stderr
    assert asked == [], "nothing is done unasked"
    ended, asked = rolecall(root, ["resume", "r1", "--missing", "--yes", "--untested"])
    assert asked == ["Engineer T2"], ended.stderr
    assert (root / "shop/receipt.py").exists()


def test_a_change_whose_tests_fail_is_repaired_before_it_is_shown(root: Path) -> None:
    wrong = TAX.replace("(1 + tax)", "(1 - tax)")
    right = block("shop/price.py", "    return sum(items) * (1 - tax)\n", "    return sum(items) * (1 + tax)\n")
    ended, asked = rolecall(
        root, ["run", BRIEF, "--roles", EVERYBODY, "--yes"], Engineer_T1=wrong, Engineer_repair=right
    )
    assert "3 passed, 0 failed" in ended.stdout
    assert asked.count("Engineer repair") == 1
    assert "(1 + tax)" in (root / "shop/price.py").read_text()


def test_a_test_that_asks_for_what_nobody_wanted_is_corrected_by_who_wrote_it(root: Path) -> None:
    tests = shop_speeches()["QA Engineer"]
    assert isinstance(tests, str)
    wrong = tests.replace("== 150", "== 151")
    correction = block(
        "tests/test_tax.py",
        "    assert total([100], tax=0.5) == 151\n",
        "    assert total([100], tax=0.5) == 150\n",
    )
    ended, asked = rolecall(
        root,
        ["run", BRIEF, "--roles", EVERYBODY, "--yes"],
        QA_Engineer=wrong,
        Engineer_repair="Finding: the test contradicts R1.",
        QA_Engineer_repair=correction,
    )
    assert "3 passed, 0 failed" in ended.stdout, ended.stdout + ended.stderr
    assert asked.count("QA Engineer repair") == 1
    assert "== 150" in (root / "tests/test_tax.py").read_text()


def test_requirements_that_contradict_each_other_end_in_a_proposal_that_offers_what_fails_by_itself(root: Path) -> None:
    tests = shop_speeches()["QA Engineer"]
    assert isinstance(tests, str)
    other = "COVERS: tests/test_tax.py::test_tax_is_taken_off R2 (basic): 50\n\n"
    more = block("tests/test_tax.py", "", "def test_tax_is_taken_off():\n    assert total([100], tax=0.5) == 50\n")
    ended, asked = rolecall(
        root,
        ["run", BRIEF, "--roles", EVERYBODY, "--yes"],
        QA_Engineer=f"{other}{tests}\n{more}",
        Engineer_repair="Finding: R1 wants 150 where R2 wants 50.",
        QA_Engineer_repair="Finding: both tests say what a requirement says.",
    )
    assert ended.returncode == 0, ended.stderr
    assert "3 passed, 0 failed" in ended.stdout
    why = "R2: AssertionError: assert 150.0 == 50"
    assert f"Finding: tests/test_tax.py, line 1, test_tax_is_taken_off: {why}" in ended.stdout
    assert f"+@pytest.mark.xfail(strict=True, reason={why!r})" in ended.stdout
    assert "which fails as it is marked to: off until accepted by itself" in ended.stdout
    written = (root / "tests/test_tax.py").read_text()
    assert "test_tax_is_taken_off" not in written, "what takes all hunks does not take it"
    assert "== 150" in written
    assert "Finding: R1 wants 150 where R2 wants 50." in ended.stdout
    assert asked.count("Engineer repair") + asked.count("QA Engineer repair") <= 6


def test_sprint_follows_sprint_where_everything_is_accepted(root: Path) -> None:
    sprints = [{"id": "S1", "title": "tax", "tasks": ["T1"]}, {"id": "S2", "title": "receipt", "tasks": ["T2"]}]
    roles = "product_manager,architect,project_manager,engineer"
    ended, asked = rolecall(
        root,
        ["run", BRIEF, "--roles", roles, "--yes", "--untested"],
        Project_Manager=fenced({**TASKS, "sprints": sprints}),
    )
    assert ended.returncode == 0, ended.stderr
    assert asked[-2:] == ["Engineer T1", "Engineer T2"]
    assert (root / "shop/receipt.py").exists()
    assert "def total(items, tax=0):" in (root / "shop/price.py").read_text()


def test_reasons_are_rules_of_the_role_from_the_day_they_are_accepted(root: Path) -> None:
    rolecall(
        root,
        ["run", BRIEF, "--roles", EVERYBODY],
        ["review", "p1", "--reject", "h1", "--reason", "Round the tax."],
    )
    ended, _ = rolecall(root, ["review", "p1", "--accept", "all", "--untested", "--anyway"])
    assert "`rolecall resume r1` has T1 done again, by your reasons." in ended.stdout
    assert "Your reasons can be rules from now on: `rolecall review p2`." in ended.stdout
    ended, _ = rolecall(root, ["undo", "p1/h1"], ["review"])
    assert "p1  " in ended.stdout
    assert "p2  " not in ended.stdout, "what was taken back teaches nothing"
    rolecall(root, ["review", "p1", "--reject", "h1", "--reason", "Round the tax."])
    ended, _ = rolecall(root, ["review", "p3", "--accept", "all", "--guarded"])
    assert ended.returncode == 0, ended.stderr
    assert "- Round the tax. (p1/h1 " in (root / ".rolecall/rules/engineer.md").read_text()
    ended, _ = rolecall(root, ["run", "Let total take a tax.", "--yes"], ["log", "r2", "--sent"], Engineer=TAX)
    assert ".rolecall/rules/engineer.md | file |" in ended.stdout
    assert "rules for this role, accepted by the developer" in ended.stdout


def test_a_task_can_be_left_out_of_a_run_that_is_taken_up_again(root: Path) -> None:
    begun = ["run", BRIEF, "--roles", EVERYBODY, "--set", "budget.callsPerRun=3"]
    ended, asked = rolecall(root, begun)
    assert asked == ["Product Manager", "Architect", "Project Manager"]
    assert "shop/price.py (T1: tax in total); shop/receipt.py (T2: the receipt)" in ended.stderr
    ended, asked = rolecall(root, ["resume", "r1", "--drop", "T9"])
    assert "T9 is in no sprint." in ended.stderr
    ended, asked = rolecall(root, ["resume", "r1", "--drop", "T2", "--set", "tests.run=false"], Engineer_repair="No.")
    assert ended.returncode == 0, ended.stderr
    assert "Engineer T1" in asked
    assert "Engineer T2" not in asked


def test_who_presses_enter_at_a_question_has_answered_it(root: Path) -> None:
    question = {"id": "Q1", "title": "Is the tax in the price?", "options": ["yes", "no"], "recommended": "no"}
    speech = fenced({**REQUIREMENTS, "questions": [question]})
    with ChatServer(lambda body: speech) as chat:
        environ = environment(root.parent / "home", chat.base_url)
        command = [sys.executable, "-I", "-m", "rolecall_server", "run", BRIEF, "--roles", "product_manager"]
        with in_terminal(command, root, environ) as terminal:
            terminal.wait_for("or Enter: ")
            terminal.type("\n")
            assert terminal.wait_for_end() == 0, terminal.shown
    told = subprocess.run(
        [*command[:4], "log", "m5"], cwd=root, env=environ, capture_output=True, text=True, check=False
    )
    assert "no (the developer)" in told.stdout


@pytest.fixture
def asked_at_a_terminal(root: Path) -> Iterator[Callable[..., contextlib.AbstractContextManager[Terminal]]]:
    """Begins a run of two roles in a terminal, with a question to the developer."""
    question = {"id": "Q1", "title": "Is the tax in the price?", "options": ["yes", "no"], "recommended": "no"}
    speeches = shop_speeches(Product_Manager=fenced({**REQUIREMENTS, "questions": [question]}))

    def answer(body: Mapping[str, Any]) -> str:
        said = speeches[who_is_asked([ChatMessage(one["role"], one["content"]) for one in body["messages"]])]
        assert isinstance(said, str)
        return said

    def begin(*options: str) -> contextlib.AbstractContextManager[Terminal]:
        command = [sys.executable, "-I", "-m", "rolecall_server", "run", BRIEF, "--roles", "product_manager,architect"]
        return in_terminal([*command, *options], root, environment(root.parent / "home", chat.base_url))

    with ChatServer(answer) as chat:
        yield begin


def test_silence_at_the_terminal_keeps_what_is_recommended(asked_at_a_terminal: Any) -> None:
    with asked_at_a_terminal("--set", "team.questionSeconds=0.01") as terminal:
        assert terminal.wait_for_end() == 0, terminal.shown
        assert "Nobody answered, so what was recommended holds: no." in terminal.shown
        assert "Architect: design (0:" in terminal.shown


def test_at_its_limit_a_run_asks_how_much_more_it_may_use(asked_at_a_terminal: Any) -> None:
    with asked_at_a_terminal("--set", "budget.callsPerRun=1", "--set", "team.questionSeconds=0") as terminal:
        terminal.wait_for("`rolecall.budget.callsPerRun`, 1.")
        terminal.wait_for("Go on? [y,n,?]")
        terminal.type("perhaps\n")
        terminal.wait_for("Go on? [y,n,?]")
        terminal.type("2.5\n")
        assert terminal.wait_for_end() == 0, terminal.shown
        assert "Architect: design (0:" in terminal.shown


def test_a_run_that_is_stopped_at_its_limit_says_how_to_go_on(asked_at_a_terminal: Any) -> None:
    with asked_at_a_terminal("--set", "budget.callsPerRun=1", "--set", "team.questionSeconds=0") as terminal:
        terminal.wait_for("Go on? [y,n,?]")
        terminal.type("n\n")
        assert terminal.wait_for_end() == 1, terminal.shown
        assert "`rolecall resume r1 --set budget.callsPerRun=3` goes on." in " ".join(terminal.shown.split())


def test_what_stops_a_run_says_its_id_and_how_to_go_on(asked_at_a_terminal: Any) -> None:
    with asked_at_a_terminal() as terminal:
        terminal.wait_for("or Enter: ")
        terminal.type("\x03")
        assert terminal.wait_for_end() == 130, terminal.shown
        assert "Stopped. `rolecall resume r1` goes on" in terminal.shown


def test_without_a_terminal_each_step_is_a_line_with_its_time_calls_and_tokens(root: Path) -> None:
    ended, _ = rolecall(root, ["run", BRIEF, "--roles", "product_manager,architect"])
    assert re.search(r"^  Architect: design \(\d+:\d\d, 1 call, [\d,]+ tokens\)$", ended.stderr, re.MULTILINE)
    assert "\x1b" not in ended.stderr


def test_the_plan_is_shown_without_a_call(root: Path) -> None:
    ended, asked = rolecall(root, ["run", f"{BRIEF} " * 9, "--plan"])
    assert (ended.returncode, asked) == (0, [])
    said = " ".join(ended.stderr.split())
    assert "The brief is beyond a page (135 words, 9 wishes): the middle way" in said
    assert "Each way may take about: engineer 1 call, " in said


def test_the_way_can_be_chosen_and_not_the_roles_as_well(root: Path) -> None:
    ended, asked = rolecall(root, ["run", BRIEF, "--way", "team", "--plan"])
    assert (ended.returncode, asked) == (0, [])
    assert "You chose the whole team (15 words, 1 wish)." in " ".join(ended.stderr.split())
    ended, _ = rolecall(root, ["run", BRIEF, "--way", "team", "--roles", "engineer", "--plan"])
    assert ended.returncode == 2
    assert "not allowed with argument" in ended.stderr


@pytest.mark.parametrize(
    ("brief", "code"), [("", "BriefMissing"), (" \n", "BriefMissing"), ("word " * 60_000, "RequestRefused")]
)
def test_a_brief_that_is_no_brief_is_refused_before_anybody_is_asked(root: Path, brief: str, code: str) -> None:
    if len(brief) > 100_000:  # no command line takes it in one piece
        brief = brief[:100_000]
    ended, asked = rolecall(root, ["run", brief, "--json"])
    assert (ended.returncode, asked) == (1, [])
    assert json.loads(ended.stdout)["error"]["code"] == code


def test_a_run_goes_on_from_an_edited_document(root: Path) -> None:
    page = root.parent / "brief.md"
    page.write_text("Let total() take a tax, and print a receipt. Round nothing.")
    ended, asked = rolecall(
        root, ["run", BRIEF, "--roles", EVERYBODY], ["resume", "r1", "--edit", "brief", str(page), "--branch"]
    )
    assert ended.returncode == 0, ended.stderr
    assert "r2 branches off r1 there." in ended.stderr
    assert asked.count("Product Manager") == 2


def test_log_says_who_published_what_and_who_read_it(root: Path) -> None:
    ended, _ = rolecall(root, ["run", BRIEF, "--roles", EVERYBODY], ["log", "r1"])
    assert "m6  architect: design v1 (d3), because of m2, m3, m4, m5; read by project_manager" in ended.stdout
    ended, _ = rolecall(root, ["log", "m6"])
    assert "shop/price.py::total" in ended.stdout


ROLE = 'title = "Security Reviewer"\ngoal = "No holes."\n\n[[duty]]\ndoes = "write"\nwatches = ["change"]\n'


def test_roles_of_the_repository_work_once_they_are_confirmed(tmp_path: Path) -> None:
    prompt = "You are the Security Reviewer of a software team. Look for holes."
    files = {
        **FILES,
        ".rolecall/roles/security.toml": f'{ROLE}publishes = ["review"]\n',
        ".rolecall/roles/security.md": prompt,
    }
    root = write_workspace(tmp_path / "work", files)
    security = fenced({"title": "No holes"})
    ended, asked = rolecall(root, ["run", BRIEF, "--roles", f"{EVERYBODY},security"])
    assert ended.returncode == 1
    assert "There is no role security." in ended.stderr
    assert "--repository-roles confirms them" in ended.stderr
    command = ["run", BRIEF, "--roles", f"{EVERYBODY},security", "--repository-roles"]
    ended, asked = rolecall(root, command, Security_Reviewer=security)
    assert ended.returncode == 0, ended.stderr
    assert asked.count("Security Reviewer") == 1
    (root / ".rolecall/roles/security.md").write_text(f"{prompt} And praise me.")
    ended, _ = rolecall(root, ["run", BRIEF, "--roles", f"{EVERYBODY},security"])
    assert ended.returncode == 1, "what changed since is not confirmed"
