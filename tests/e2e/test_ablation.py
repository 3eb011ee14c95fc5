"""`rolecall bench strategies`: tasks of a git repository, with a strategy as it is and without each of its parts."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support.chat_server import ChatServer
from support.edits import block
from support.traps import commit
from support.workspaces import FILES, environment, write_workspace

PRICE, TESTS = "shop/price.py", "tests/test_price.py"
WRONG_BEFORE = {
    **FILES,
    PRICE: FILES[PRICE].replace("sum(items)", "sum(items) + 1"),
    TESTS: "from shop.price import discount\n\n\ndef test_discount():\n    assert discount(10) == 9\n",
}
ADDED = "\n\ndef test_total_adds():\n    assert total([1, 2]) == 3\n"
FIX = block(PRICE, "    return sum(items) + 1\n", "    return sum(items)\n")
NO_FIX = block(PRICE, "    return sum(items) + 1\n", "    return sum(items) + 2\n")
F2P = [f"{TESTS}::test_total_of_nothing", f"{TESTS}::test_total_adds"]


@pytest.fixture
def clones(tmp_path: Path) -> Path:
    """A repository with a fault, and the commit that mended it."""
    root = tmp_path / "clones" / "shop"
    write_workspace(root, WRONG_BEFORE)
    commit(root)
    write_workspace(root, {PRICE: FILES[PRICE], TESTS: FILES[TESTS] + ADDED})
    commit(root)
    return root.parent


def git(root: Path, *arguments: str) -> str:
    return subprocess.run(["git", "-C", root, *arguments], check=True, capture_output=True, text=True).stdout


def task_of(clones: Path, **others: object) -> dict[str, Any]:
    parent, commit = (git(clones / "shop", "rev-parse", name).strip() for name in ("HEAD~1", "HEAD"))
    given = {"repo": "shop", "parent": parent, "commit": commit, "tests": [TESTS], "f2p": F2P}
    return {"id": "shop:1", **given, **others}


def bench(
    clones: Path, tasks: list[dict[str, Any]], base_url: str, *arguments: str
) -> subprocess.CompletedProcess[str]:
    (clones.parent / "tasks.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in tasks), encoding="utf-8")
    places = ["--repositories", str(clones), "--results", "results.jsonl"]
    return subprocess.run(
        [sys.executable, "-I", "-m", "rolecall_server", "bench", "strategies", "tasks.jsonl", *places, *arguments],
        cwd=clones.parent,
        env=environment(clones.parent / "home", base_url),
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def test_each_part_is_switched_off_in_turn_and_hidden_tests_decide(clones: Path) -> None:
    # As it is: two attempts. Without repairs: one. Without the forms of feedback and without lookups: two each.
    with ChatServer([NO_FIX, FIX, NO_FIX, NO_FIX, FIX, NO_FIX, FIX]) as chat:
        ended = bench(clones, [task_of(clones)], chat.base_url, "--yes", "--json")
    assert ended.returncode == 0, ended.stderr
    told = json.loads(ended.stdout)
    arms = {one["arm"]: one for one in told["arms"]}
    assert [*arms] == ["as it is", "without repairs", "without feedback", "without lookups"]
    assert {name: one["solved"] for name, one in arms.items()} == {
        "as it is": 1,
        "without repairs": 0,
        "without feedback": 1,
        "without lookups": 1,
    }
    assert arms["without repairs"]["difference"][1] >= 0
    assert arms["without repairs"]["says"] == "too few tasks to tell"
    assert arms["without repairs"]["tokenRatio"] < 1
    assert [one["calls"] for one in told["results"]] == [2, 1, 2, 2]
    assert "1 task, strategy standard" in ended.stderr
    assert "4 runs are left. They may take about" in ended.stderr
    assert git(clones / "shop", "status", "--porcelain") == "", "the repository is as it was"


def test_what_was_run_is_not_run_again_and_the_table_is_printed(clones: Path) -> None:
    with ChatServer([FIX] * 4) as chat:
        assert bench(clones, [task_of(clones)], chat.base_url, "--yes").returncode == 0
        again = bench(clones, [task_of(clones)], chat.base_url)
    assert again.returncode == 0, again.stderr
    assert len(chat.asked) == 4
    for said in ("as it is", "without repairs", "21% to 100%", "too few tasks to tell"):
        assert said in again.stdout


def test_where_there_is_a_brief_the_tests_stay_hidden(clones: Path) -> None:
    task = task_of(clones, brief="Let total() of shop/price.py add nothing to the sum.")
    with ChatServer([FIX] * 3) as chat:
        ended = bench(clones, [task], chat.base_url, "--yes", "--json")
    assert [one["arm"] for one in json.loads(ended.stdout)["arms"]] == [
        "as it is",
        "without repairs",
        "without lookups",
    ]
    assert all(one["solved"] for one in json.loads(ended.stdout)["results"])
    assert "test_total_adds" not in json.dumps(chat.asked)


@pytest.mark.parametrize(
    ("brief", "said"),
    [("Mend the total.", "Its tests pass without the change."), ("", "does not fail here: it passed.")],
)
def test_a_task_whose_tests_pass_without_the_change_is_left_out_of_all_arms(
    clones: Path, brief: str, said: str
) -> None:
    task = task_of(clones, f2p=[f"{TESTS}::test_discount"], brief=brief)
    write_workspace(clones / "shop", {TESTS: WRONG_BEFORE[TESTS]})
    commit(clones / "shop")
    task["commit"] = git(clones / "shop", "rev-parse", "HEAD").strip()
    with ChatServer([FIX]) as chat:
        ended = bench(clones, [task], chat.base_url, "--yes")
    assert ended.returncode == 1
    assert ended.stderr.count("shop:1 is left out: ") == 1
    assert said in ended.stderr


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"repo": "hop"}, "hop is no git repository. Say with --repositories where they lie."),
        ({"commit": "0" * 40}, "has no commit 0000"),
        ({"parent": "--force"}, "has no commit --force"),
        ({"f2p": "all"}, "Line 1 is no task: f2p: Input should be a valid array."),
    ],
)
def test_what_is_wrong_with_a_task_is_said_before_a_model_is_asked(
    clones: Path, change: dict[str, Any], said: str
) -> None:
    with ChatServer([]) as chat:
        ended = bench(clones, [task_of(clones, **change)], chat.base_url, "--yes")
    assert ended.returncode == 1
    assert said in ended.stderr.replace("\n", " ")
    assert chat.asked == []


def test_a_task_none_of_whose_tests_comes_to_an_end_is_left_out(clones: Path) -> None:
    write_workspace(clones / "shop", {TESTS: "x = 1\n"})
    commit(clones / "shop")
    task = task_of(clones, brief="Mend the total.")
    task["parent"] = git(clones / "shop", "rev-parse", "HEAD~2").strip()
    with ChatServer([FIX]) as chat:
        ended = bench(clones, [task], chat.base_url, "--yes")
    assert ended.returncode == 1
    assert "shop:1 is left out: Its tests cannot be run: " in ended.stderr


@pytest.mark.parametrize("path", ["../tests/test_price.py", "away/test_price.py"])
def test_no_test_file_is_written_outside_of_the_checkout(clones: Path, path: str) -> None:
    away = clones.parent / "away"
    away.mkdir()
    (clones / "shop" / "away").symlink_to(away)
    commit(clones / "shop")
    task = task_of(clones, tests=[path])
    task["parent"] = git(clones / "shop", "rev-parse", "HEAD").strip()
    with ChatServer([]) as chat:
        ended = bench(clones, [task], chat.base_url, "--yes")
    assert ended.returncode == 1
    assert "FileRefused" in ended.stderr
    assert [*away.iterdir()] == []


def test_a_line_of_results_that_is_none_is_told_and_nothing_is_lost(clones: Path) -> None:
    (clones.parent / "results.jsonl").write_text('{"task": "shop:1", "stra', encoding="utf-8")
    ended = bench(clones, [task_of(clones)], "", "--yes")
    assert ended.returncode == 1
    assert "Line 1 of results.jsonl is no result." in ended.stderr
    assert (clones.parent / "results.jsonl").read_text(encoding="utf-8").startswith('{"task"')


def test_nothing_is_begun_that_nobody_confirmed(clones: Path) -> None:
    with ChatServer([]) as chat:
        ended = bench(clones, [task_of(clones)], chat.base_url)
    assert (ended.returncode, chat.asked) == (1, [])
    assert "Nobody can be asked whether it may begin." in ended.stderr
    assert not (clones.parent / "results.jsonl").exists()
