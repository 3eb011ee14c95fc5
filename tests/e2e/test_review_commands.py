"""`rolecall review`, `log` and `undo` as a person or a script runs them: real processes, a real terminal."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from rolecall_server.cli.boundary import NOT_WRITTEN
from rolecall_server.review.proposals.evidence import Evidence, Failure, Tally
from rolecall_server.review.proposals.proposal_store import Reviewed, load_proposal, supersede_earlier
from support.editor import editing, until
from support.patience import PATIENCE_S
from support.proposals import propose, store_of
from support.terminal import in_terminal
from support.workspaces import FILES, contents, environment, write_workspace

ROLECALL = (sys.executable, "-I", "-m", "rolecall_server")
PRICE = "shop/price.py"
BETTER = (
    FILES[PRICE]
    .replace("sum(items)", "sum(items) or 0")
    .replace('"""The price less the rate."""', '"""The price less a rate."""')
)
"""Of price.py, in two hunks."""
SETTINGS = FILES["pyproject.toml"].replace('"1"', '"2"')


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_workspace(tmp_path / "work")


def variables(root: Path, **extra: str) -> dict[str, str]:
    return environment(root.parent / "home", **extra)


def proposed(root: Path, files: dict[str, str | None] | None = None, **more: Any) -> str:
    """The id of a proposal that waits in the user's store."""
    store = store_of(root.parent / "home")
    reviewed = propose(store, root, files or {PRICE: BETTER}, **more)
    store.close()
    return reviewed.proposal.id


def now(root: Path, proposal_id: str) -> Reviewed:
    """The proposal as the store has it after the commands."""
    store = store_of(root.parent / "home")
    try:
        return load_proposal(store, proposal_id)
    finally:
        store.close()


def states(root: Path, proposal_id: str) -> dict[str, str]:
    return {hunk_id: state.value for hunk_id, state in now(root, proposal_id).states.items()}


def rolecall(root: Path, *arguments: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    ended = subprocess.run(
        [*ROLECALL, *map(str, arguments)],
        cwd=cwd or root,
        env=variables(root),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert "Traceback" not in ended.stderr, ended.stderr
    return ended


def answer(root: Path, answers: Sequence[str], *arguments: str, columns: int = 200, **extra: str) -> tuple[int, str]:
    """Run a command in a terminal and answer its questions; the exit status and all that was shown."""
    with in_terminal([*ROLECALL, *arguments], root, variables(root, **extra), columns=columns) as terminal:
        for each in answers:
            terminal.wait_for(",?] ")
            terminal.type(each if each == "\x03" else f"{each}\n")
        return terminal.wait_for_end(), terminal.shown


# Review


def test_what_is_undecided_is_listed_and_nothing_else(root: Path) -> None:
    assert rolecall(root, "review").stdout == f"Nothing is undecided in {root}.\n"
    first, second = proposed(root), proposed(root, {"shop/cart.py": None}, title="no cart")
    assert rolecall(root, "review", first, "--reject", "all").returncode == 0
    said = rolecall(root, "review", cwd=root / "shop").stdout
    assert said.startswith(f"{second}  no cart\n    1 of 1 hunk undecided, in shop/cart.py\n")
    assert first not in said
    (row,) = json.loads(rolecall(root, "review", "--json").stdout)
    assert (row["proposal"], row["states"]) == (second, {"h1": "pending"})


def test_the_list_names_the_files_that_something_is_left_of_and_what_does_not_fit_any_more(root: Path) -> None:
    proposal_id = proposed(root, {PRICE: BETTER, "shop/cart.py": None})
    rolecall(root, "review", proposal_id, "--reject", "h3")
    assert "    2 of 3 hunks undecided, in shop/price.py\n" in rolecall(root, "review").stdout
    (root / PRICE).write_text(FILES[PRICE].replace("sum(items)", "max(items)"))
    said = rolecall(root, "review").stdout
    assert "    2 of 3 hunks undecided, in shop/price.py; h1 does not fit any more\n" in said


def test_a_proposal_of_another_repository_is_not_decided_from_here(root: Path) -> None:
    proposal_id = proposed(root)
    elsewhere = write_workspace(root.parent / "elsewhere")
    ended = rolecall(root, "review", proposal_id, "--accept", "all", "--untested", cwd=elsewhere)
    assert ended.returncode == 1
    assert f"NotFound: {proposal_id} is for another repository, {root}.\nGo there, or add --root" in ended.stderr
    assert contents(elsewhere)[PRICE] == FILES[PRICE].encode()


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        (["y", "n it says enough"], {"h1": "accepted", "h2": "rejected"}),
        (["a"], {"h1": "accepted", "h2": "accepted"}),
        (["n", "u", "y", "q"], {"h1": "accepted", "h2": "pending"}),
        (["y", "u", "n", "y"], {"h1": "rejected", "h2": "accepted"}),
        (["u", "q"], {"h1": "pending", "h2": "pending"}),
        (["y", "\x03"], {"h1": "pending", "h2": "pending"}),
    ],
    ids=["one each", "all", "undo a no", "undo a yes", "nothing to undo", "Ctrl+C"],
)
def test_answers_do_what_they_say(root: Path, answers: list[str], expected: dict[str, str]) -> None:
    proposal_id = proposed(root)
    _, shown = answer(root, answers, "review", proposal_id)
    assert states(root, proposal_id) == expected, shown
    text = (root / PRICE).read_text()
    assert ("sum(items) or 0" in text) == (expected["h1"] == "accepted")
    assert ("less a rate" in text) == (expected["h2"] == "accepted")
    if "n it says enough" in answers:
        assert now(root, proposal_id).reasons["h2"] == "it says enough"


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        (["y", "y"], {"h1": "accepted", "h2": "accepted", "h3": "accepted"}),
        (["n", "y"], {"h1": "accepted", "h2": "rejected", "h3": "accepted"}),
        (["n", "n too clever"], {"h1": "rejected", "h2": "rejected", "h3": "rejected"}),
        (["n", "u", "y", "n"], {"h1": "accepted", "h2": "accepted", "h3": "rejected"}),
        (["n", "q"], {"h1": "pending", "h2": "rejected", "h3": "pending"}),
    ],
    ids=" ".join,
)
def test_an_import_is_decided_with_what_uses_it(root: Path, answers: list[str], expected: dict[str, str]) -> None:
    text = FILES[PRICE].replace("sum(items)", "math.fsum(items)").replace("price * (1 - rate)", "math.floor(price)")
    proposal_id = proposed(root, {PRICE: text.replace("\n\n\ndef total", "\n\nimport math\n\n\ndef total")})
    _, shown = answer(root, answers, "review", proposal_id)
    assert states(root, proposal_id) == expected
    before_question, _, _ = shown.partition("Accept it?")
    assert "+import math" in before_question
    assert "(1/2) h2" in before_question


ONE_TASK = {"h1": ("R1", "T1"), "h2": ("R2", "T1"), "h3": ("T1",), "h4": ("T1",), "h5": ("T1",)}
TWO_TASKS = {**ONE_TASK, "h2": ("R1", "T2")}
WITH_TESTS = {
    PRICE: BETTER,
    "shop/cart.py": FILES["shop/cart.py"].replace("total(cart)", "total([*cart])"),
    "tests/test_new.py": "def test_one():\n    assert 1\n\n\ndef test_two():\n    assert 2\n",
}
"""In h1 and h2, h3, h4 and h5."""


@pytest.mark.parametrize(
    ("serves", "answers", "expected"),
    [
        (ONE_TASK, ["g", "n", "g"], "accepted accepted rejected accepted accepted"),
        (ONE_TASK, ["x too clever", "y", "x"], "rejected rejected accepted rejected rejected"),
        (ONE_TASK, ["g", "u", "n", "q"], "rejected pending pending pending pending"),
        (TWO_TASKS, ["g", "n", "q"], "accepted rejected pending pending pending"),
        (TWO_TASKS, ["x", "y", "q"], "rejected accepted pending pending pending"),
    ],
    ids=["accept", "reject", "undo", "accept another task's not", "reject another task's not"],
)
def test_what_a_file_has_for_one_task_is_decided_with_one_key(
    root: Path, serves: dict[str, tuple[str, ...]], answers: list[str], expected: str
) -> None:
    proposal_id = proposed(root, {**WITH_TESTS}, serves=serves)
    _, shown = answer(root, answers, "review", proposal_id)
    assert " ".join(states(root, proposal_id).values()) == expected, shown
    if "x too clever" in answers:
        reasons = now(root, proposal_id).reasons
        assert [reasons[hunk_id] for hunk_id in ("h1", "h2", "h4")] == ["too clever", "too clever", ""]


def test_the_keys_that_decide_more_than_one_hunk_say_which_before_and_after(root: Path) -> None:
    proposal_id = proposed(root, {**WITH_TESTS}, serves=ONE_TASK)
    _, shown = answer(root, ["?", "x", "u", "g", "y", "a"], "review", proposal_id)
    assert "g: accept these 2: h1, h2; x: reject these 2: h1, h2; a: accept these 5: h1 to h5\n(1/5)" in shown
    assert "  x  reject these; what you write after the letter is the reason: h1, h2\n" in shown
    assert "\nRejected: h1, h2.\n" in shown
    assert "\nAccepted: h1, h2.\n" in shown
    assert "Accepted: h3" not in shown, "one hunk at a time needs no more words"
    assert shown.count("\nAccepted: h4, h5.\n") == 1
    assert set(states(root, proposal_id).values()) == {"accepted"}


def test_hunks_are_listed_by_file_and_task_and_each_test_in_one_line(root: Path) -> None:
    proposal_id = proposed(root, {**WITH_TESTS}, serves={**TWO_TASKS, "h4": ("R1",), "h5": ()})
    _, shown = answer(root, ["q"], "review", proposal_id)
    listed, _, _ = shown.partition("Accept it?")
    assert [line.rstrip() for line in listed.splitlines() if re.match("  +([a-z/_]+[.]py: )?h[0-9]", line)] == [
        "  shop/price.py: h1  for T1",
        "  shop/price.py: h2  for T2",
        "  shop/cart.py: h3  for T1",
        "  tests/test_new.py: h4, h5",
        "    h4 test_one (+2, R1)",
        "    h5 test_two (+4)",
    ]


def test_a_hunk_is_edited_in_the_developers_editor_and_then_decided(root: Path) -> None:
    proposal_id = proposed(root)
    editor = shlex.join(["sed", "-i", "s/or 0/or None/"])
    status, shown = answer(root, ["e", "y", "n"], "review", proposal_id, EDITOR=editor)
    assert status == 0, shown
    assert "h1 is edited.\n" in shown
    assert "+    return sum(items) or None" in shown
    assert (root / PRICE).read_text() == FILES[PRICE].replace("sum(items)", "sum(items) or None")


def test_a_program_of_the_repository_is_not_taken_for_the_editor(root: Path) -> None:
    proposal_id = proposed(root)
    for name in ("my-editor", "vi", "nano", "editor", "sensible-editor"):
        (root / name).write_text("#!/bin/sh\ntouch was-run\n")
        (root / name).chmod(0o755)
    path = os.pathsep.join([".", str(root), variables(root)["PATH"]])
    _, shown = answer(root, ["e", "y", "q"], "review", proposal_id, EDITOR="my-editor", PATH=path)
    assert "The editor my-editor was not found" in shown
    assert not (root / "was-run").exists()


@pytest.mark.parametrize("editor", ["true", "false", "no-such-editor", "truncate -s 0"])
def test_an_editor_that_gives_nothing_leaves_the_hunk_as_it_was(root: Path, editor: str) -> None:
    proposal_id = proposed(root)
    _, shown = answer(root, ["e", "y", "q"], "review", proposal_id, EDITOR=editor)
    assert any(said in shown for said in ("Nothing was edited.", "gave no text", "no-such-editor was not found"))
    assert "sum(items) or 0" in (root / PRICE).read_text()


def test_the_whole_file_is_shown_with_the_hunk_in_its_place(root: Path) -> None:
    proposal_id = proposed(root)
    _, shown = answer(root, ["s", "q"], "review", proposal_id)
    rows = [
        '    5       """The sum of the prices."""',
        "      -     return sum(items)",
        "    6 +     return sum(items) or 0",
    ]
    assert "\n".join(rows) in shown


def test_a_hunk_whose_place_has_changed_is_shown_with_the_reason_and_not_asked_about(root: Path) -> None:
    proposal_id = proposed(root)
    (root / PRICE).write_text(FILES[PRICE].replace("sum(items)", "max(items)"))
    status, shown = answer(root, ["y"], "review", proposal_id)
    assert status == 0
    assert "(1/1) h2" in shown
    assert "h1 does not fit any more: The lines around it have changed" in shown
    assert "max(items)" in (root / PRICE).read_text()
    refused = rolecall(root, "review", proposal_id, "--accept", "h1")
    assert refused.returncode == 1
    assert "HunkStale" in refused.stderr


def test_a_test_that_fails_is_told_at_the_hunk_that_brings_it(root: Path) -> None:
    text = FILES["tests/test_price.py"] + "\n\ndef test_one():\n    assert total([1]) == 2\n"
    failure = Failure("tests/test_price.py::test_one[a]", "assert 1 == 2")
    evidence = Evidence(ran=True, after=Tally(1, 1), failures=(failure,))
    proposal_id = proposed(root, {"tests/test_price.py": text}, evidence=evidence)
    shown = rolecall(root, "review", proposal_id).stdout
    assert "\nFails: test_one[a]: assert 1 == 2\n@@ -5,0 +5,4 @@ h1 test_one\n" in shown or (
        "\nFails: test_one[a]: assert 1 == 2\n@@ " in shown
    )


def test_sentences_break_between_words_at_the_edge_of_the_terminal(root: Path) -> None:
    proposal_id = proposed(root)
    _, shown = answer(root, ["q"], "review", proposal_id, columns=40)
    assert all(len(line) <= 40 for line in shown.split("\n") if not line.startswith(("+", "-", "@")))
    assert "(1/2) h1 changes total in shop/price.py \n(-1 +1). Accept it?" in shown


# Review, from a script


def test_hunks_are_accepted_and_rejected_by_name(root: Path) -> None:
    proposal_id = proposed(root)
    ended = rolecall(
        root, "review", proposal_id, "--accept", "h1", "--reject", "h2", "--reason", "it says enough", "--json"
    )
    said = json.loads(ended.stdout)
    assert said["states"] == {"h1": "accepted", "h2": "rejected"}
    assert said["reasons"] == {"h2": "it says enough"}
    assert said["written"] == [PRICE]
    assert (root / PRICE).read_text() == FILES[PRICE].replace("sum(items)", "sum(items) or 0")


def test_what_was_decided_in_the_same_way_before_is_told_and_holds_nothing_up(root: Path) -> None:
    proposal_id = proposed(root)
    rolecall(root, "review", proposal_id, "--accept", "h1")
    ended = rolecall(root, "review", proposal_id, "--accept", "h1,h2")
    assert ended.returncode == 0
    assert "h1 was accepted before.\n" in ended.stdout
    assert (root / PRICE).read_text() == BETTER
    refused = rolecall(root, "review", proposal_id, "--reject", "h2")
    assert f"Hunk h2 of {proposal_id} was accepted before.\n`rolecall undo {proposal_id}/h2` offers" in refused.stderr


def test_a_script_is_told_what_was_accepted_along(root: Path) -> None:
    proposal_id = proposed(root, dict(NAMED))
    ended = rolecall(root, "review", proposal_id, "--accept", "h3")
    assert "Accepted too, for what needs it: h1, h2.\n" in ended.stdout
    assert (root / PRICE).read_text() == NAMED[PRICE]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--accept", "h9"], "Hunk h9 of p1 does not exist."),
        (["--accept", "h1", "--reject", "h1"], "h1 cannot be accepted and rejected."),
        (["--accept", "h1,h9"], "Hunk h9 of p1 does not exist."),
    ],
)
def test_what_cannot_be_decided_so_decides_nothing(root: Path, options: list[str], said: str) -> None:
    proposal_id = proposed(root)
    ended = rolecall(root, "review", proposal_id, *options, "--json")
    assert ended.returncode == 1
    assert json.loads(ended.stdout)["error"]["what"] == said
    assert states(root, proposal_id) == {"h1": "pending", "h2": "pending"}
    assert (root / PRICE).read_text() == FILES[PRICE]


# Guarded files


def test_a_guarded_file_takes_a_second_answer_that_names_it_and_says_why(root: Path) -> None:
    proposal_id = proposed(root, {"pyproject.toml": SETTINGS, PRICE: BETTER})
    _, shown = answer(root, ["y", "n", "y", "y"], "review", proposal_id)
    assert (
        "pyproject.toml is guarded: tools read their settings from it, and some run what it names. Change it?" in shown
    )
    assert "Left undecided: h1." in shown
    assert (root / "pyproject.toml").read_text() == FILES["pyproject.toml"]
    assert (root / PRICE).read_text() == BETTER
    answer(root, ["y", "y"], "review", proposal_id)
    assert (root / "pyproject.toml").read_text() == SETTINGS


def test_a_program_gets_another_name_only_after_a_second_answer(root: Path) -> None:
    script = root / "scripts/build.sh"
    script.parent.mkdir()
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    renames = {"scripts/build.sh": "scripts/make.sh"}
    proposal_id = proposed(root, {"scripts/make.sh": "#!/bin/sh\n"}, renames=renames)
    _, shown = answer(root, ["y", "n"], "review", proposal_id)
    assert "scripts/make.sh is guarded: it may be run as a program, and can be under its new name." in shown
    assert script.exists()
    answer(root, ["y", "y"], "review", proposal_id)
    assert os.access(root / "scripts/make.sh", os.X_OK)


def test_yes_to_all_asks_about_each_guarded_file(root: Path) -> None:
    proposal_id = proposed(root, {"pyproject.toml": SETTINGS, PRICE: BETTER, "tests/conftest.py": "import os\n"})
    answer(root, ["a", "y", "n"], "review", proposal_id)
    assert (root / "pyproject.toml").read_text() == SETTINGS
    assert (root / PRICE).read_text() == BETTER
    assert not (root / "tests/conftest.py").exists()


def test_a_script_has_to_say_that_a_guarded_file_may_change(root: Path) -> None:
    proposal_id = proposed(root, {"pyproject.toml": SETTINGS})
    refused = rolecall(root, "review", proposal_id, "--accept", "h1")
    assert refused.returncode == 1
    assert "h1: pyproject.toml is guarded: tools read" in refused.stderr
    assert "--guarded" in refused.stderr
    assert rolecall(root, "review", proposal_id, "--accept", "all", "--guarded", "--untested").returncode == 0
    assert (root / "pyproject.toml").read_text() == SETTINGS


def test_all_is_written_but_guarded_files_and_what_needs_them_which_wait_and_are_named(root: Path) -> None:
    using = "from tests.conftest import ITEMS\n\n\ndef test_items():\n    assert ITEMS\n"
    files = {PRICE: BETTER, "tests/conftest.py": "ITEMS = [1]\n", "tests/test_items.py": using}
    proposal_id = proposed(root, {**files})
    ended = rolecall(root, "review", proposal_id, "--accept", "all", "--untested")
    assert ended.returncode == NOT_WRITTEN, ended.stderr
    assert "tests/conftest.py is guarded: pytest runs it before any test. --accept all does not" in ended.stdout
    assert f"Wrote {PRICE}.\nUndecided: h3, h4, h5." in ended.stdout
    assert (root / PRICE).read_text() == BETTER
    again = rolecall(root, "review", proposal_id, "--accept", "all", "--untested", "--json")
    assert (again.returncode, list(json.loads(again.stdout)["guarded"])) == (NOT_WRITTEN, ["tests/conftest.py"])
    assert rolecall(root, "review", proposal_id, "--accept", "all", "--untested", "--guarded").returncode == 0
    assert (root / "tests/test_items.py").read_text() == using


def test_a_script_can_tell_that_not_all_was_accepted_where_a_hunk_does_not_fit_any_more(root: Path) -> None:
    proposal_id = proposed(root)
    (root / PRICE).write_text(FILES[PRICE].replace("sum(items)", "max(items)"))
    for written in ("Wrote shop/price.py.", "Nothing was written."):
        ended = rolecall(root, "review", proposal_id, "--accept", "all", "--untested")
        assert ended.returncode == NOT_WRITTEN
        assert written in ended.stdout
        assert "h1 does not fit any more" in ended.stdout
    assert rolecall(root, "review", proposal_id, "--reject", "h1").returncode == 0


# Ended while it writes

STRUCK = (sys.executable, str(Path(__file__).parent.parent / "support/struck.py"))
TAX = "shop/tax.py"


def struck(root: Path, number: str, n: int, proposal_id: str) -> subprocess.CompletedProcess[str]:
    """Accept a proposal in a process that a signal strikes at its *n*th change of a file."""
    command = [*STRUCK, number, str(n), str(root.parent), "review", proposal_id, "--accept", "all", "--untested"]
    return subprocess.run(command, cwd=root, env=variables(root), capture_output=True, text=True, check=False)


def written(root: Path) -> list[bool]:
    return [(root / PRICE).read_text() == BETTER, (root / TAX).exists()]


def in_the_middle(root: Path, proposal_id: str) -> None:
    """Kill an acceptance when one file is written and the other is not."""
    for n in range(5, 12):
        assert struck(root, "SIGKILL", n, proposal_id).returncode == -signal.SIGKILL
        if written(root) == [True, False]:
            return
        assert written(root) == [False, False]
        assert "nothing was written" in rolecall(root, "review").stderr
    pytest.fail("it was never killed between the two files")


def test_a_killed_acceptance_is_finished_by_the_next_command_wherever_that_is_given(root: Path, tmp_path: Path) -> None:
    proposal_id = proposed(root, {PRICE: BETTER, TAX: "RATE = 0.2\n"})
    in_the_middle(root, proposal_id)
    assert not list(root.rglob(".rolecall-*")), "no temporary file outlives its writer"
    (tmp_path / "elsewhere").mkdir()
    next_one = rolecall(root, "graph", "stats", ".", "--json", cwd=tmp_path / "elsewhere")
    assert json.loads(next_one.stdout), "what a program reads is as ever"
    assert f"of {proposal_id} in {root} was ended in the middle. {TAX} was missing, and written now." in next_one.stderr
    assert written(root) == [True, True]
    assert set(states(root, proposal_id).values()) == {"accepted"}
    assert not rolecall(root, "review").stderr


async def test_a_server_finishes_a_killed_acceptance_and_says_so(root: Path) -> None:
    proposal_id = proposed(root, {PRICE: BETTER, TAX: "RATE = 0.2\n"})
    in_the_middle(root, proposal_id)
    async with editing(root, variables(root)) as editor:
        await until(lambda: any(f"{TAX} was missing, and written now" in message for message in editor.messages))
    assert written(root) == [True, True]
    assert set(states(root, proposal_id).values()) == {"accepted"}


@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM"])
def test_a_stopped_command_says_what_it_changed(root: Path, number: str) -> None:
    proposal_id = proposed(root, {PRICE: BETTER, TAX: "RATE = 0.2\n"})
    ended = struck(root, number, 4, proposal_id)
    assert ended.returncode == 130
    assert f"It had changed {PRICE}, {TAX} before" in ended.stderr
    assert "nothing was written" not in ended.stderr
    assert written(root) == [True, True]
    assert not rolecall(root, "review").stderr
    assert set(states(root, proposal_id).values()) == {"accepted"}


def test_temporary_folders_of_killed_commands_are_gone_after_any_command(root: Path, tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    folder = tmp_path / "temporary"
    names = [f"rolecall-{ended.pid}-x", f"rolecall-{ended.pid}-demo-x", f"rolecall-{os.getpid()}-x", "rolecall-notes-x"]
    for name in names:
        (folder / name / "copy").mkdir(parents=True)
    subprocess.run([*ROLECALL, "graph", "stats", "."], cwd=root, env=variables(root, TMPDIR=str(folder)), check=True)
    assert sorted(path.name for path in folder.iterdir()) == sorted(names[2:])


# A selection that would break

CART = "shop/cart.py"
NAMED = {
    PRICE: FILES[PRICE] + "\n\ndef net(items):\n    return total(items)\n",
    CART: FILES[CART].replace("import total", "import net, total").replace("total(cart)", "net(cart)"),
}
"""Of price.py in h1, which the hunks of cart.py need."""


@pytest.mark.parametrize("more", [[], ["--json"]], ids=["text", "json"])
def test_a_script_has_to_say_that_something_may_be_missing(root: Path, more: list[str]) -> None:
    proposal_id = proposed(root, dict(NAMED))
    chosen = ["review", proposal_id, "--accept", "h2", "--reject", "h1"]
    refused = rolecall(root, *chosen, *more)
    assert refused.returncode == 1
    said = refused.stdout + refused.stderr
    assert "SelectionBreaks" in said
    assert "net, which h1 adds" in said
    assert f"Accept h1 too: `rolecall review {proposal_id} --accept h1,h2`, or add --anyway" in said
    assert (root / CART).read_text() == FILES[CART]
    assert states(root, proposal_id)["h1"] == "pending"
    assert rolecall(root, *chosen, *more, "--anyway").returncode == 0
    assert (root / CART).read_text() != FILES[CART]
    assert (root / PRICE).read_text() == FILES[PRICE]


@pytest.mark.parametrize(
    ("letter", "wrote_price", "wrote_cart"), [("y", True, True), ("a", False, True), ("n", False, False)]
)
def test_what_would_be_missing_is_asked_about_before_anything_is_written(
    root: Path, letter: str, wrote_price: bool, wrote_cart: bool
) -> None:
    proposal_id = proposed(root, dict(NAMED))
    _, shown = answer(root, ["n", "a", letter], "review", proposal_id)
    assert "What you accepted would break: checkout calls net, which h1 adds" in shown
    assert "Accept h1 too, accept anyway, or nothing?" in shown
    assert ((root / PRICE).read_text() == NAMED[PRICE]) is wrote_price
    assert ((root / CART).read_text() == NAMED[CART]) is wrote_cart


def test_what_an_acceptance_brings_along_is_shown_before_the_question_and_only_once(root: Path) -> None:
    proposal_id = proposed(root, {CART: NAMED[CART], PRICE: NAMED[PRICE]})
    _, shown = answer(root, ["s", "y"], "review", proposal_id)
    before_question, _, _ = shown.partition("Accept it?")
    assert "with h1, h3, which it needs" in before_question
    assert "+def net(items):" in before_question
    assert shown.count("+def net(items):") == 1
    assert "Accepted: h1 to h3.\n" in shown
    assert (root / PRICE).read_text() == NAMED[PRICE]


def test_what_is_missing_is_shown_before_it_may_be_accepted_too(root: Path) -> None:
    proposal_id = proposed(root, dict(NAMED))
    chosen = ["review", proposal_id, "--accept", "h2", "--reject", "h1"]
    _, shown = answer(root, ["y"], *chosen)
    assert "+def net(items):" in shown.partition("Accept h1 too")[0]
    assert (root / PRICE).read_text() == NAMED[PRICE]


DOUBLED = {
    PRICE: FILES[PRICE].replace("sum(items)", "2 * sum(items)"),
    "tests/test_price.py": FILES["tests/test_price.py"] + "\n\ndef test_doubled():\n    assert total([1]) == 2\n",
}
"""The second needs the first, which no name tells."""


def test_what_is_accepted_without_the_rest_is_run_with_the_tests_first(root: Path) -> None:
    passed = Evidence(ran=True, after=Tally(2, 0, 0), model="a script")
    proposal_id = proposed(root, dict(DOUBLED), evidence=passed)
    chosen = ["review", proposal_id, "--accept", "h2", "--reject", "h1"]
    refused = rolecall(root, *chosen)
    assert refused.returncode == 1
    assert "1 test fails with this choice: tests/test_price.py::test_doubled" in refused.stderr
    assert (root / "tests/test_price.py").read_text() == FILES["tests/test_price.py"]
    assert "Tried without h1: 1 passed, 1 failed" in rolecall(root, "review", proposal_id).stdout
    assert rolecall(root, *chosen, "--anyway").returncode == 0
    assert (root / "tests/test_price.py").read_text() == DOUBLED["tests/test_price.py"]


def test_a_choice_that_only_tests_find_broken_is_told_what_it_needs_and_how_to_say_so(root: Path) -> None:
    passed = Evidence(ran=True, after=Tally(2, 0, 0), model="a script")
    three = {**DOUBLED, "shop/cart.py": FILES["shop/cart.py"] + "\n\ndef empty(cart):\n    return not cart\n"}
    proposal_id = proposed(root, {path: three[path] for path in sorted(three)}, evidence=passed)
    refused = rolecall(root, "review", proposal_id, "--accept", "h3")
    assert "test_doubled; with h2 too, nothing of that fails." in refused.stderr, refused.stderr
    assert f"`rolecall review {proposal_id} --accept h2,h3`" in refused.stderr
    rolecall(root, "review", proposal_id, "--reject", "h2")
    refused = rolecall(root, "review", proposal_id, "--accept", "h3")
    assert f"--accept h2,h3` after `rolecall undo {proposal_id}/h2`" in refused.stderr
    assert (root / PRICE).read_text() == FILES[PRICE]
    _, shown = answer(root, ["n", "y", "y"], "review", proposal_id)
    assert "Accept h2 too, accept anyway, or nothing?" in shown
    assert (root / PRICE).read_text() == DOUBLED[PRICE]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("2 * sum(items)", "Tests with this choice: 1 passed, 0 failed (before: 1 passed, 0 failed)."),
        ("1 + sum(items)", "; with it fails tests/test_price.py::test_total_of_nothing."),
    ],
)
def test_what_the_tests_show_of_a_choice_is_told_before_it_is_written(root: Path, text: str, said: str) -> None:
    known = (Failure("tests/test_price.py::test_total_of_nothing", "assert 1 == 0"),) if "1 +" in text else ()
    shown = Evidence(ran=True, after=Tally(2 - len(known), len(known), 0), failures=known)
    files: dict[str, str | None] = {**DOUBLED, PRICE: FILES[PRICE].replace("sum(items)", text)}
    proposal_id = proposed(root, files, evidence=shown)
    _, screen = answer(root, ["y", "n"], "review", proposal_id)
    assert said in screen.partition("Wrote shop/price.py")[0], screen


def test_what_passes_without_the_rest_is_accepted_without_a_word(root: Path) -> None:
    passed = Evidence(ran=True, after=Tally(2, 0, 0), model="a script")
    proposal_id = proposed(root, dict(DOUBLED), evidence=passed)
    assert rolecall(root, "review", proposal_id, "--accept", "h1", "--reject", "h2").returncode == 0
    assert (root / PRICE).read_text() == DOUBLED[PRICE]


def test_hidden_characters_are_told_above_the_hunk(root: Path) -> None:
    proposal_id = proposed(root, {PRICE: FILES[PRICE].replace("sum(items)", "sum(items)  # \u202eok")})
    shown = rolecall(root, "review", proposal_id).stdout
    warning = "Hidden in h1, added line 1, column 26: a character that turns the direction of writing (U+202E"
    assert shown.index(warning) < shown.index("+    return sum(items)  # <U+202E>ok")


# Log


def test_the_log_lists_runs_with_what_became_of_them(root: Path) -> None:
    proposal_id = proposed(root)
    rolecall(root, "review", proposal_id, "--accept", "h1", "--reject", "h2", "--reason", "it says enough")
    listed = rolecall(root, "log").stdout
    assert 'Engineer: "a change": finished\n' in listed
    assert f"{proposal_id}: 1 accepted, 1 rejected." in listed
    shown = rolecall(root, "log", proposal_id).stdout
    assert "  h1  accepted: changes total in shop/price.py (-1 +1)\n" in shown
    assert "rejected: it says enough" in shown
    details = json.loads(rolecall(root, "log", "r1", "--json").stdout)["details"][0]
    assert [(one["hunk"], one["state"]) for one in details["decisions"]] == [("h1", "accepted"), ("h2", "rejected")]


def test_the_log_tells_what_was_replaced_from_what_was_rejected(root: Path) -> None:
    first = proposed(root)
    rolecall(root, "review", first, "--reject", "h1")
    store = store_of(root.parent / "home")
    second = propose(store, root, {PRICE: BETTER}).proposal
    supersede_earlier(store, root, second)
    store.close()
    assert f"{first}: 1 rejected, 1 replaced by {second.id}." in rolecall(root, "log").stdout
    assert f"  h2  replaced by {second.id}: changes" in rolecall(root, "log", first).stdout


def test_what_was_rejected_can_be_revised_once_it_is_offered_again(root: Path) -> None:
    proposal_id = proposed(root)
    rolecall(root, "review", proposal_id, "--reject", "all")
    refused = rolecall(root, "revise", proposal_id, "shorter")
    assert f"Nothing of {proposal_id} is undecided.\n" in refused.stderr
    assert f"`rolecall undo {proposal_id}/h1` or `rolecall undo {proposal_id}/h2` offers again" in refused.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("review", "7"), "'7' is no id of a proposal.\nThat is p and a number, such as p7."),
        (("resume", "p7"), "'p7' is no id of a run.\nThat is r and a number, such as r7."),
        (("review", "p99"), "There is no proposal p99.\n`rolecall log` lists the runs"),
        (("review-code", "--diff", "main", "--no-model"), "is in no git repository, so no commit can be named."),
        (
            ("fix", "tests/test_prise.py::test_total", "--locate"),
            "Is it tests/test_price.py? Name the test as pytest does",
        ),
        (("implement", "fix", "the", "bug"), 'text of several words stands in quotes: "fix the bug"'),
        (
            ("review", "p7", "--reject", "h1", "--reason", "too", "long"),
            'text of several words stands in quotes: "long"',
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_is_typed_amiss_is_answered_with_what_was_meant(root: Path, arguments: tuple[str, ...], said: str) -> None:
    proposed(root)
    ended = rolecall(root, *arguments)
    assert ended.returncode in (1, 2)
    assert said in ended.stderr, ended.stderr


def test_resume_without_a_run_lists_those_that_wait(root: Path) -> None:
    assert rolecall(root, "resume").stdout == f"No run in {root} waits to be gone on with.\n"
    proposed(root)
    store = store_of(root.parent / "home")
    paused = store.add_run(root, "engineer", "", "a tax rate")
    store.end_run(paused, "paused")
    store.close()
    said = rolecall(root, "resume").stdout
    assert '"a tax rate": paused\n' in said
    assert said.endswith(f"`rolecall resume {paused}` goes on with the latest.\n")
    assert "finished" not in said
    (row,) = json.loads(rolecall(root, "resume", "--json").stdout)
    assert row["run"] == paused


def test_a_message_in_other_digits_than_0_to_9_is_not_there(root: Path) -> None:
    ended = rolecall(root, "log", "m\u00b2")
    assert ended.stderr.startswith("NotFound: "), ended.stderr


def test_a_line_says_where_it_came_from_wherever_it_is_now(root: Path) -> None:
    proposal_id = proposed(root)
    rolecall(root, "review", proposal_id, "--accept", "h1")
    (root / PRICE).write_text("# typed above\n" + (root / PRICE).read_text())
    said = rolecall(root, "log", "--at", "price.py:7", cwd=root / "shop").stdout
    assert said.startswith(
        "shop/price.py:7  return sum(items) or 0\na change: changes total in shop/price.py (-1 +1)\n"
    )
    assert "Written by the Engineer (a script)." in said
    assert f"as {proposal_id}/h1 of run r1." in said
    assert "No accepted hunk brought this line." in rolecall(root, "log", "--at", f"{PRICE}:1").stdout
    trace = json.loads(rolecall(root, "log", "--at", f"{PRICE}:7", "--json").stdout)["trace"]
    assert (trace["hunk"], trace["role"]) == (f"{proposal_id}/h1", "Engineer")


@pytest.mark.parametrize("place", ["shop/price.py", "shop/price.py:0", "shop/price.py:99", "nowhere.py:1", ":1"])
def test_a_line_that_is_none_is_refused(root: Path, place: str) -> None:
    ended = rolecall(root, "log", "--at", place)
    assert ended.returncode == 1
    assert ended.stderr.startswith("FileRefused: ")


def test_a_run_whose_process_was_killed_is_interrupted_at_the_next_start(root: Path) -> None:
    store = store_of(root.parent / "home")
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    run_ids = [store.add_run(root, "engineer", "", brief) for brief in ("dead", "alive")]
    store.connection.execute("UPDATE run SET process_id = ? WHERE id = 1", (gone.pid,))
    store.connection.commit()
    store.close()
    listed = rolecall(root, "log").stdout
    assert f"{run_ids[0]}  " in listed
    assert '"dead": interrupted\n' in listed
    assert '"alive": running\n' in listed, f"this process, {os.getpid()}, is still there"


# Undo


def test_a_run_is_undone_byte_for_byte_and_offered_again(root: Path) -> None:
    before = contents(root)
    proposal_id = proposed(root, {PRICE: BETTER, "shop/cart.py": None, "new/file.py": "x = 1\n"})
    rolecall(root, "review", proposal_id, "--accept", "all", "--untested")
    assert contents(root) != before
    ended = rolecall(root, "undo", "r1")
    assert ended.returncode == 0, ended.stderr
    assert contents(root) == before
    assert set(states(root, proposal_id).values()) == {"pending"}


def test_what_has_moved_since_keeps_everything_as_it_is_unless_the_rest_is_asked_for(root: Path) -> None:
    proposal_id = proposed(root)
    rolecall(root, "review", proposal_id, "--accept", "all", "--untested")
    changed = BETTER.replace("or 0", "or 1")
    (root / PRICE).write_text(changed)
    refused = rolecall(root, "undo", proposal_id)
    assert refused.returncode == 1
    assert refused.stdout.startswith(f"{proposal_id}/h1 stays: {PRICE}: The lines around it have changed")
    assert "Nothing was changed." in refused.stdout
    assert (root / PRICE).read_text() == changed
    rest = rolecall(root, "undo", proposal_id, "--what-still-fits", "--json")
    assert json.loads(rest.stdout)["written"] == [PRICE]
    assert (root / PRICE).read_text() == changed.replace("less a rate", "less the rate")


def test_one_hunk_is_undone_and_a_rejected_one_offered_again(root: Path) -> None:
    proposal_id = proposed(root)
    rolecall(root, "review", proposal_id, "--accept", "h1", "--reject", "h2")
    assert rolecall(root, "undo", f"{proposal_id}/h1").returncode == 0
    assert "it is offered again" in rolecall(root, "undo", f"{proposal_id}/h2").stdout
    assert states(root, proposal_id) == {"h1": "pending", "h2": "pending"}
    assert (root / PRICE).read_text() == FILES[PRICE]


RAN = Evidence(ran=True, after=Tally(2, 0, 0), model="a script")


def accepted(root: Path, files: dict[str, str | None], **more: Any) -> str:
    proposal_id = proposed(root, files, **more)
    ended = rolecall(root, "review", proposal_id, "--accept", "all", "--guarded", "--untested")
    assert ended.returncode == 0, ended.stderr
    return proposal_id


def test_what_needs_the_hunk_that_is_named_goes_with_it_and_is_named(root: Path) -> None:
    proposal_id = accepted(root, dict(NAMED))
    ended = rolecall(root, "undo", f"{proposal_id}/h1")
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith(f"{proposal_id}/h2,h3 need what was named, and went with it.\nTook back")
    assert (root / CART).read_text() == FILES[CART]


@pytest.mark.parametrize("more", [[], ["--json"]], ids=["text", "json"])
def test_what_an_accepted_hunk_of_another_proposal_uses_is_not_taken_from_it_unsaid(
    root: Path, more: list[str]
) -> None:
    adding = accepted(root, {PRICE: NAMED[PRICE]})
    using = accepted(root, {CART: NAMED[CART]})
    refused = rolecall(root, "undo", adding, *more)
    said = refused.stdout + refused.stderr
    assert refused.returncode == 1
    assert "SelectionBreaks" in said
    assert f"({using}/h1)" in said
    assert f"Begin with `rolecall undo {using}/h1`" in said
    assert (root / PRICE).read_text() == NAMED[PRICE]
    assert rolecall(root, "undo", adding, *more, "--anyway").returncode == 0
    assert (root / PRICE).read_text() == FILES[PRICE]


def test_the_tests_run_on_what_would_be_left_before_anything_is_taken_back(root: Path) -> None:
    code = accepted(root, {PRICE: DOUBLED[PRICE]})
    tests = accepted(root, {"tests/test_price.py": DOUBLED["tests/test_price.py"]}, evidence=RAN)
    refused = rolecall(root, "undo", code)
    assert refused.returncode == 1
    assert f"1 test would fail: tests/test_price.py::test_doubled ({tests}/h1)." in refused.stderr
    assert (root / PRICE).read_text() == DOUBLED[PRICE]
    assert rolecall(root, "undo", f"{tests}/h1").returncode == 0
    assert rolecall(root, "undo", code).returncode == 0
    assert contents(root)[PRICE] == FILES[PRICE].encode()


def test_the_rest_of_a_proposal_is_not_taken_back_unsaid_where_what_stays_breaks_without_it(root: Path) -> None:
    parts = {
        "shop/options.py": "NAMES = set()\n\n\ndef declare(name):\n    NAMES.add(name)\n",
        PRICE: FILES[PRICE].replace("sum(items)", "sum(items) if 'tax' in NAMES else 1"),
        "shop/__init__.py": "from shop.options import declare\n\ndeclare('tax')\n",
    }
    parts[PRICE] = "from shop.options import NAMES\n" + parts[PRICE]
    proposal_id = accepted(root, {**parts}, evidence=RAN)
    (root / PRICE).write_text(parts[PRICE].replace("else 1", "else 1  # none"))
    before = contents(root)
    refused = rolecall(root, "undo", proposal_id, "--what-still-fits")
    assert refused.returncode == 1
    assert "would fail: tests/test_price.py::" in refused.stderr
    assert contents(root) == before


def test_what_git_took_out_is_said_to_be_gone_and_the_rest_is_taken_back(root: Path) -> None:
    proposal_id = accepted(root, {PRICE: BETTER, TAX: "RATE = 0.2\n"})
    (root / PRICE).write_text(FILES[PRICE])
    refused = rolecall(root, "undo", proposal_id)
    assert refused.returncode == 1
    assert refused.stdout.startswith(f"{proposal_id}/h1,h2: {PRICE}: They are not there any more.\n")
    assert rolecall(root, "undo", proposal_id, "--what-still-fits").returncode == 0
    assert not (root / TAX).exists()


@pytest.mark.parametrize("what", ["r9", "p9", "p1", "p1/h9", "x"])
def test_there_is_nothing_to_undo_where_nothing_was_accepted(root: Path, what: str) -> None:
    proposed(root)
    ended = rolecall(root, "undo", what)
    assert ended.returncode == 1
    assert ended.stderr.startswith("NotFound: ")


# In a terminal


def test_serve_in_a_terminal_says_whom_it_is_for(root: Path) -> None:
    with in_terminal([*ROLECALL, "serve"], root, variables(root)) as terminal:
        terminal.wait_for("it is for editors to start")
        terminal.type("\x03")
        terminal.wait_for_end()


@pytest.mark.parametrize("command", ["tests", "implement", "review", "log", "undo", "graph", "rank"])
def test_the_help_of_a_command_has_examples(root: Path, command: str) -> None:
    shown = rolecall(root, command, "--help").stdout
    assert f"examples:\n  rolecall {command}" in shown
