"""The loop of edits, runs and repairs, with a model that follows a script and tests that are really run."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import pytest

from rolecall_server.craft.attempt import MAX_REPAIRS, Attempt, AttemptOutcome, AttemptWork, Ladder, Rung, Try
from rolecall_server.craft.attempts import prose_of, work_out
from rolecall_server.errors import ConnectionFailed, NothingToChange, NoUsableEdit, RolecallError
from rolecall_server.model import ChatMessage
from rolecall_server.review.proposals.evidence import GraphFinding, SourceLine
from rolecall_server.sandbox import NotRun, TestResult, TestRun
from support.edits import block
from support.scripted_model import ScriptedModel

FILES = {"price.py": "def total(items):\n    return sum(items)\n", "notes.md": "# Notes\n"}
NEW = "test_price.py"
GONE = ConnectionFailed("The model cannot be reached.")


def run_tests(files: Mapping[str, str]) -> TestRun:
    """How the test functions in *files* end when they are called."""
    outcomes: list[TestResult] = []
    for path, text in files.items():
        names: dict[str, object] = {}
        exec(compile(text, path, "exec"), names)
        for name, test in names.items():
            if name.startswith("test_") and callable(test):
                outcomes.append(_outcome(f"{path}::{name}", test))
    return TestRun("ran", outcomes=tuple(outcomes))


def _outcome(test_id: str, test: Callable[[], object]) -> TestResult:
    try:
        test()
    except AssertionError as error:
        return TestResult(test_id, "failed", message=f"AssertionError: {error}")
    return TestResult(test_id, "passed")


def work(
    *,
    files: Mapping[str, str] = FILES,
    refusal: Callable[[str], str | None] = lambda path: None,
    run: Callable[[Mapping[str, str]], TestRun | NotRun] = run_tests,
    before: TestRun | NotRun | None = None,
    moves_files: bool = False,
) -> AttemptWork:
    async def try_out(changed: Mapping[str, str | None]) -> TestRun | NotRun:
        return run({path: text for path, text in changed.items() if text is not None})

    opening = (ChatMessage("user", "Do it."),)
    return AttemptWork(opening, files.get, refusal, try_out, lambda: before, "Mend it.", moves_files=moves_files)


async def outcome_of(model: ScriptedModel, job: AttemptWork | None = None) -> AttemptOutcome:
    return await work_out(job or work(), model, lambda message, fraction: None)


def check_file(**values: bool) -> str:
    """A test file in which each named test passes or fails."""
    return "\n\n".join(f"def test_{name}():\n    assert {value}, '{name}'\n" for name, value in values.items())


def change(name: str, value: bool) -> str:
    """The edit after which a test of `check_file` passes or fails."""
    old, new = (f"    assert {each}, '{name}'\n" for each in (not value, value))
    return block(NEW, old, new)


async def test_an_attempt_that_works_ends_the_loop() -> None:
    model = ScriptedModel(["I test it.\n\n" + block(NEW, "", check_file(a=True))])
    outcome = await outcome_of(model)
    assert outcome.attempt.files == {NEW: check_file(a=True)}
    assert outcome.attempt.works
    assert (outcome.rationale, outcome.repairs, outcome.problems, outcome.interrupted) == ("I test it.", 0, (), None)
    assert model.asked == [(ChatMessage("user", "Do it."),)]


async def test_a_failing_test_is_shown_and_repaired() -> None:
    model = ScriptedModel([block(NEW, "", check_file(a=True, b=False)), change("b", True)])
    outcome = await outcome_of(model)
    assert outcome.attempt.works
    assert outcome.attempt.files == {NEW: check_file(a=True, b=True)}
    assert outcome.repairs == 1
    assert "1 of 2 tests fail" in model.last_words[1]
    assert "test_price.py::test_b\nAssertionError: b" in model.last_words[1]
    assert "Mend it." in model.last_words[1]
    assert [message.role for message in model.asked[1]] == ["user", "assistant", "user"]


async def test_after_three_repairs_the_attempt_that_failed_least_is_the_result() -> None:
    replies = [
        block(NEW, "", check_file(a=False, b=False, c=False)),
        change("a", True) + change("b", True),
        change("a", False),
        change("b", False),
    ]
    outcome = await outcome_of(ScriptedModel(replies))
    assert len(replies) == 1 + MAX_REPAIRS
    assert outcome.attempt.files == {NEW: check_file(a=True, b=True, c=False)}
    assert (len(outcome.attempt.failures), outcome.repairs) == (1, 3)


@pytest.mark.parametrize("most", [0, 1])
async def test_no_more_repairs_are_made_than_are_wanted(most: int) -> None:
    replies = [block(NEW, "", check_file(a=False)), *[change("a", True)] * most]
    model = ScriptedModel(replies)
    outcome = await outcome_of(model, replace(work(), most_repairs=most))
    assert (outcome.attempt.works, outcome.repairs, len(model.asked)) == (most == 1, most, 1 + most)


async def test_a_repair_that_only_takes_tests_away_counts_as_better_than_a_failing_one() -> None:
    replies = [block(NEW, "", check_file(a=True, b=False)), block(NEW, "\n\n" + check_file(b=False), "")]
    outcome = await outcome_of(ScriptedModel(replies))
    assert outcome.attempt.works
    passed = run_tests({NEW: outcome.attempt.files[NEW] or ""}).passed
    assert [test.test_id for test in passed] == ["test_price.py::test_a"]


async def test_each_repair_builds_on_the_latest_attempt_not_on_the_best() -> None:
    replies = [block(NEW, "", check_file(a=False, b=True)), change("b", False), change("a", True), change("b", True)]
    outcome = await outcome_of(ScriptedModel(replies))
    assert outcome.attempt.files == {NEW: check_file(a=True, b=True)}
    assert outcome.attempt.works


async def test_a_repair_that_changes_nothing_ends_the_loop() -> None:
    model = ScriptedModel([block(NEW, "", check_file(a=False)), block(NEW, check_file(a=False), check_file(a=False))])
    outcome = await outcome_of(model)
    assert len(outcome.attempt.failures) == 1
    assert len(model.asked) == 2


async def test_what_failed_before_is_not_held_against_a_change() -> None:
    before = TestRun("ran", outcomes=(TestResult(f"{NEW}::test_old", "failed"),))
    outcome = await outcome_of(ScriptedModel([block(NEW, "", check_file(old=False, new=True))]), work(before=before))
    assert outcome.attempt.works


async def test_what_cannot_be_run_counts_as_working() -> None:
    nothing_runs = work(run=lambda files: NotRun("There is no pytest."))
    outcome = await outcome_of(ScriptedModel([block(NEW, "", check_file(a=False))]), nothing_runs)
    assert outcome.attempt.works
    assert outcome.attempt.run == NotRun("There is no pytest.")


async def test_a_change_that_keeps_the_tests_from_ending_is_repaired() -> None:
    hung = TestRun("timed out", "The tests did not end.", (TestResult("a", "passed"),))
    runs = iter([hung, TestRun("ran", outcomes=(TestResult("a", "passed"),))])
    model = ScriptedModel([block(NEW, "", "x = 1\n"), block(NEW, "x = 1\n", "x = 2\n")])
    outcome = await outcome_of(model, work(run=lambda files: next(runs), before=TestRun("ran")))
    assert outcome.attempt.files == {NEW: "x = 2\n"}
    assert "The tests did not run to their end: The tests did not end." in model.last_words[1]


async def test_what_does_not_parse_is_told_before_anything_is_run() -> None:
    ran: list[Mapping[str, str]] = []

    def run(files: Mapping[str, str]) -> TestRun:
        ran.append(files)
        return run_tests(files)

    model = ScriptedModel([block(NEW, "", "def test_a(:\n"), block(NEW, "def test_a(:\n", check_file(a=True))])
    outcome = await outcome_of(model, work(run=run))
    assert outcome.attempt.works
    assert ran == [{NEW: check_file(a=True)}]
    assert "Your change does not parse:" in model.last_words[1]
    assert f"- {NEW}, line 1: " in model.last_words[1]


async def test_a_failing_change_is_better_than_one_that_does_not_parse() -> None:
    broken = [block(NEW, "def test_a():\n", "def test_a(:\n"), block(NEW, "(:\n", "((:\n")]
    replies = [block(NEW, "", check_file(a=False)), broken[0], block(NEW, "def test_a(:\n", "def test_a((:\n")]
    replies.append(block(NEW, "def test_a((:\n", "def test_a(((:\n"))
    outcome = await outcome_of(ScriptedModel(replies))
    assert outcome.attempt.files == {NEW: check_file(a=False)}


async def test_a_file_that_was_broken_before_may_be_worked_on() -> None:
    job = work(files={"broken.py": "def f(:\nx = 1\n"}, run=lambda files: NotRun("nothing to run"))
    outcome = await outcome_of(ScriptedModel([block("broken.py", "x = 1\n", "x = 2\n")]), job)
    assert outcome.attempt.files == {"broken.py": "def f(:\nx = 2\n"}
    assert outcome.attempt.works


async def test_a_block_that_fits_nowhere_is_asked_for_again_and_the_rest_is_kept() -> None:
    wrong, right = (block("price.py", f"    return {each}(items)\n", "    return 0\n") for each in ("max", "sum"))
    model = ScriptedModel([block(NEW, "", check_file(a=True)) + wrong, right])
    outcome = await outcome_of(model, work(run=lambda files: TestRun("ran")))
    assert outcome.attempt.files == {NEW: check_file(a=True), "price.py": "def total(items):\n    return 0\n"}
    assert outcome.repairs == 0, "a correction is no repair"
    assert "- price.py: SEARCH matches nothing in price.py" in model.last_words[1]
    assert NEW not in model.last_words[1]


async def test_a_block_that_never_fits_is_left_out_and_named() -> None:
    wrong = block("price.py", "    return max(items)\n", "    return 0\n")
    outcome = await outcome_of(ScriptedModel([block(NEW, "", check_file(a=True)) + wrong, wrong, wrong]))
    assert outcome.attempt.files == {NEW: check_file(a=True)}
    (problem,) = outcome.problems
    assert problem.startswith("An edit of price.py was left out: SEARCH matches nothing in price.py")
    assert "\n" not in problem


async def test_a_file_the_role_may_not_change_is_refused_with_the_reason() -> None:
    job = work(refusal=lambda path: None if path == NEW else f"Leave {path} alone.")
    model = ScriptedModel(
        [block("notes.md", "# Notes\n", "# More\n") + block(NEW, "", check_file(a=True)), "As you wish."]
    )
    model.replies = [model.replies[0], block(NEW, check_file(a=True), check_file(a=True, b=True))]
    outcome = await outcome_of(model, job)
    assert outcome.attempt.files == {NEW: check_file(a=True, b=True)}
    assert "- notes.md: Leave notes.md alone." in model.last_words[1]


async def test_a_model_that_gives_no_edit_is_asked_again_and_then_it_is_an_error_with_its_words() -> None:
    model = ScriptedModel(["I would rather\nnot.", "No.", "Still no."])
    with pytest.raises(NoUsableEdit, match="It said: I would rather not") as told:
        await outcome_of(model)
    assert told.value.next_step
    assert len(model.asked) == 2, "it said no, and why"
    assert "Your reply holds no edit block." in model.last_words[1]


async def test_a_reply_that_says_nothing_is_asked_about_once() -> None:
    model = ScriptedModel(["Hm.", "Hm."])
    with pytest.raises(NoUsableEdit, match=r"The model gave no edit that can be used\. It said: Hm\.") as told:
        await outcome_of(model)
    assert not isinstance(told.value, NothingToChange)


async def test_code_without_the_form_of_an_edit_is_asked_for_in_that_form() -> None:
    code = "Nothing has to change but this:\n\n```python\ndef total(items):\n    return 0\n```\n"
    model = ScriptedModel([code, block(NEW, "", check_file(a=True))])
    assert (await outcome_of(model)).attempt.files == {NEW: check_file(a=True)}


@pytest.mark.parametrize(
    "reply",
    [
        "Finding: price.py::total: gives 0, should give 1, as it says so.",
        "**Finding:** price.py::total: it is wrong.",
        "ANSWER F1: declined: the caller checks it.",
        "WIDEN: cart.py: it calls it",
        "Nothing has to change: the function does it already.",
        "No edit is needed here, since `total` is right.",
    ],
)
async def test_an_answer_without_edits_is_not_asked_about(reply: str) -> None:
    model = ScriptedModel([reply])
    with pytest.raises(NothingToChange, match=r"The model proposes no change\. It said: ") as told:
        await outcome_of(model)
    assert told.value.said == reply
    assert len(model.asked) == 1


@pytest.mark.parametrize(
    "reply",
    [
        "Finding: price.py::total: gives 0, should give 1.",
        "The tests ask for what the requirements rule out, so I leave them.",
        "ANSWER F2: declined: it is meant so.",
    ],
)
async def test_an_answer_to_failing_tests_ends_the_loop(reply: str) -> None:
    model = ScriptedModel([block(NEW, "", check_file(a=False)), reply])
    outcome = await outcome_of(model)
    assert len(model.asked) == 2
    assert outcome.said.endswith(f"{reply}\n")
    assert (len(outcome.attempt.failures), outcome.problems) == (1, ())


async def test_a_reasoned_no_to_a_correction_ends_the_asking_and_names_what_is_left_out() -> None:
    wrong = block("price.py", "    return max(items)\n", "    return 0\n")
    model = ScriptedModel([block(NEW, "", check_file(a=True)) + wrong, "That line is gone already, so leave it."])
    outcome = await outcome_of(model, work(run=lambda files: TestRun("ran")))
    assert len(model.asked) == 2
    assert outcome.attempt.files == {NEW: check_file(a=True)}
    assert outcome.problems[0].startswith("An edit of price.py was left out: SEARCH matches nothing in price.py")


async def test_what_is_said_with_a_correction_stands_beside_what_was_said_first() -> None:
    wrong = block("price.py", "    return max(items)\n", "    return 0\n")
    model = ScriptedModel(
        [f"I change both.\n\n{block(NEW, '', check_file(a=True))}{wrong}", "Only the test is new: the line has gone."]
    )
    outcome = await outcome_of(model, work(run=lambda files: TestRun("ran")))
    assert outcome.rationale == "I change both.\n\nAfter corrections: Only the test is new: the line has gone."


async def test_several_blocks_of_which_one_is_wrong_are_told_by_their_numbers() -> None:
    blocks = [
        block("notes.md", "# Notes\n", "# Notes\n\nFirst.\n"),
        block("notes.md", "Frist.\n", "Second.\n"),
        block(NEW, "", check_file(a=True)),
    ]
    model = ScriptedModel(["".join(blocks), block("notes.md", "First.\n", "Second.\n")])
    outcome = await outcome_of(model, work(run=lambda files: TestRun("ran")))
    assert outcome.attempt.files == {"notes.md": "# Notes\n\nSecond.\n", NEW: check_file(a=True)}
    told = model.last_words[1]
    assert "About block 2 of 3:\n- notes.md: SEARCH matches nothing in notes.md" in told
    assert "The nearest lines are (from line 3):\nFirst." in told, "as the first block left them"
    assert told.endswith("\nApplied already, and not to be sent again: blocks 1 and 3 of 3.")


async def test_a_block_that_comes_back_as_it_was_is_not_asked_for_again() -> None:
    wrong = block("price.py", "    return max(items)\n", "    return 0\n")
    model = ScriptedModel([block(NEW, "", check_file(a=True)) + wrong, wrong])
    outcome = await outcome_of(model)
    assert len(model.asked) == 2
    assert len(outcome.problems) == 1


async def test_a_block_that_was_applied_and_comes_again_is_not_applied_twice() -> None:
    grow = block("notes.md", "# Notes\n", "# Notes\nmore\n") + block(NEW, "", check_file(a=True))
    wrong, right = (block("price.py", f"    return {each}(items)\n", "    return 0\n") for each in ("max", "sum"))
    model = ScriptedModel([grow + wrong, grow + right])
    outcome = await outcome_of(model, work(run=lambda files: TestRun("ran")))
    assert outcome.attempt.files["notes.md"] == "# Notes\nmore\n"
    assert outcome.attempt.files[NEW] == check_file(a=True)
    assert outcome.problems == ()


async def test_a_refusal_is_told_once_and_asks_for_nothing_again() -> None:
    job = work(refusal=lambda path: None if path == NEW else f"Leave {path} alone.")
    meddling = block("notes.md", "# Notes\n", "# More\n")
    model = ScriptedModel([meddling + block(NEW, "", check_file(a=True)), meddling])
    outcome = await outcome_of(model, job)
    assert outcome.attempt.files == {NEW: check_file(a=True)}
    assert "About block 1 of 2:\n- notes.md: Leave notes.md alone." in model.last_words[1]
    assert "Send these again" not in model.last_words[1]
    assert len(model.asked) == 2


async def test_a_repair_that_goes_back_to_an_earlier_attempt_ends_the_loop() -> None:
    model = ScriptedModel([block(NEW, "", check_file(a=False, b=True)), change("b", False), change("b", True)])
    outcome = await outcome_of(model)
    assert len(model.asked) == 3
    assert outcome.attempt.files == {NEW: check_file(a=False, b=True)}


async def test_nothing_is_told_twice_in_the_same_words() -> None:
    names = [f"def test_a({'(' * n}:\n" for n in range(4)]
    replies = [block(NEW, "", names[0]), *(block(NEW, old, new) for old, new in itertools.pairwise(names))]
    model = ScriptedModel(replies)
    await outcome_of(model)
    assert len(set(model.last_words)) == len(model.last_words) == 4


async def test_a_name_like_a_cover_is_written_only_where_it_stands_already() -> None:
    keyed = {**FILES, "keys.py": 'NAME = "REDACTED_SECRET_1"\n'}
    good = block("keys.py", 'NAME = "REDACTED_SECRET_1"\n', 'OTHER = "REDACTED_SECRET_1"\n')
    bad = block("price.py", "    return sum(items)\n", '    return "REDACTED_SECRET_7"\n')
    model = ScriptedModel([good + bad, "There is no such secret, so I leave it out."])
    outcome = await outcome_of(model, work(files=keyed, run=lambda files: TestRun("ran")))
    assert outcome.attempt.files == {"keys.py": 'OTHER = "REDACTED_SECRET_1"\n'}
    assert "REDACTED_SECRET_7 stands for no secret that you were shown" in model.last_words[1]


async def test_only_edits_that_fit_nowhere_are_an_error_that_names_them() -> None:
    wrong = block("price.py", "    return max(items)\n", "    return 0\n")
    with pytest.raises(NoUsableEdit, match=r"An edit of price\.py was left out"):
        await outcome_of(ScriptedModel([wrong] * 3))


async def test_an_edit_that_gives_the_text_as_it_is_is_no_edit() -> None:
    same = block("price.py", "    return sum(items)\n", "    return sum(items)\n")
    with pytest.raises(NoUsableEdit):
        await outcome_of(ScriptedModel([same]))


async def test_a_model_that_fails_at_once_is_an_error() -> None:
    with pytest.raises(ConnectionFailed):
        await outcome_of(ScriptedModel([GONE]))


@pytest.mark.parametrize("n_repairs", [0, 1, 2])
async def test_a_model_that_fails_later_leaves_the_best_of_what_there_was(n_repairs: int) -> None:
    names = ("a", "b", "c")
    replies: Sequence[str | BaseException] = [
        block(NEW, "", check_file(a=False, b=False, c=False)),
        *(change(name, True) for name in names[:n_repairs]),
        GONE,
    ]
    outcome = await outcome_of(ScriptedModel(replies))
    assert outcome.interrupted is GONE
    assert outcome.repairs == n_repairs
    assert outcome.attempt.files == {NEW: check_file(**{name: i < n_repairs for i, name in enumerate(names)})}


async def test_a_model_that_fails_while_it_corrects_a_block_leaves_the_blocks_that_fit() -> None:
    wrong = block("price.py", "    return max(items)\n", "    return 0\n")
    outcome = await outcome_of(ScriptedModel([block(NEW, "", check_file(a=False)) + wrong, GONE]))
    assert outcome.attempt.files == {NEW: check_file(a=False)}
    assert len(outcome.attempt.failures) == 1, "it was run all the same"
    assert outcome.interrupted is GONE
    assert outcome.problems[0].startswith("An edit of price.py was left out")


async def test_a_model_that_fails_before_any_block_fits_is_an_error() -> None:
    wrong = block("price.py", "    return max(items)\n", "    return 0\n")
    with pytest.raises(ConnectionFailed):
        await outcome_of(ScriptedModel([wrong, GONE]))


async def test_a_cancelled_run_is_cancelled_wherever_it_is() -> None:
    with pytest.raises(asyncio.CancelledError):
        await outcome_of(ScriptedModel([block(NEW, "", check_file(a=False)), asyncio.CancelledError()]))


async def test_what_goes_on_is_reported_as_it_goes() -> None:
    said: list[str] = []
    model = ScriptedModel([block(NEW, "", check_file(a=False)), change("a", True)])
    await work_out(work(), model, lambda message, fraction: said.append(message))
    n_characters = len(str(model.replies[0]))
    assert said[:3] == ["asking the model", f"the model is writing ({n_characters:,} characters)", "running the tests"]
    assert said[3] == "repair 1 of 3: showing the model what failed"


@pytest.mark.parametrize(
    ("reply", "prose"),
    [
        ("I do this.\n\nFILE: a.py\n<<<<<<< SEARCH\n", "I do this."),
        ("One.\nTwo.\n\n**FILE: a.py**\n", "One.\nTwo."),
        ("Only this.\n```\n<<<<<<< SEARCH\n", "Only this."),
        ("FILE: a.py\n", ""),
        ("", ""),
    ],
)
def test_the_rationale_is_what_stands_before_the_first_edit(reply: str, prose: str) -> None:
    assert prose_of(reply) == prose


def test_a_long_rationale_is_cut_between_words() -> None:
    assert prose_of("some words " * 1000, 25) == "some words some words …"


def test_every_error_the_loop_raises_says_who_acts_next() -> None:
    assert issubclass(NoUsableEdit, RolecallError)
    assert NoUsableEdit("x").next_step.endswith(".")


TOTAL_IS_GONE = GraphFinding(
    "missing symbol",
    "price.py",
    0,
    "'total' is gone, and still used in one place.",
    (SourceLine("shop.py", 3, "total()"),),
)


def finds_while(
    text: str, finding: GraphFinding = TOTAL_IS_GONE
) -> Callable[[Mapping[str, str | None]], tuple[GraphFinding, ...]]:
    """A check that finds fault with a change as long as it has *text* somewhere."""
    return lambda files: (finding,) if any(text in (each or "") for each in files.values()) else ()


async def test_what_the_graph_finds_broken_is_repaired_once_with_the_places() -> None:
    model = ScriptedModel([block(NEW, "", check_file(a=True)), block(NEW, "", check_file(b=True))])
    outcome = await outcome_of(model, replace(work(), check=finds_while("test_a")))
    assert "price.py, line 1: 'total' is gone, and still used in one place." in model.last_words[1]
    assert "    shop.py, line 4: total()" in model.last_words[1]
    assert outcome.repairs == 1


async def test_what_stays_broken_after_one_repair_is_shown_with_the_proposal() -> None:
    model = ScriptedModel([block(NEW, "", check_file(a=True)), block("notes.md", "# Notes\n", "# More\n")])
    outcome = await outcome_of(model, replace(work(), check=finds_while("test_a")))
    assert (outcome.repairs, outcome.attempt.findings) == (1, (TOTAL_IS_GONE,))


async def test_what_is_only_possible_is_not_asked_about() -> None:
    perhaps = replace(TOTAL_IS_GONE, certain=False)
    model = ScriptedModel([block(NEW, "", check_file(a=True))])
    outcome = await outcome_of(model, replace(work(), check=finds_while("test_a", perhaps)))
    assert (outcome.repairs, outcome.attempt.findings) == (0, (perhaps,))


async def test_findings_are_told_along_with_failing_tests() -> None:
    model = ScriptedModel([block(NEW, "", check_file(a=False)), change("a", True)])
    await outcome_of(model, replace(work(), check=finds_while("test_a")))
    assert "Mend it." in model.last_words[1]
    assert "'total' is gone" in model.last_words[1]


async def test_wrong_indentation_is_a_change_that_does_not_parse() -> None:
    model = ScriptedModel([block(NEW, "", "def test_a():\nassert 1\n"), block(NEW, "assert 1\n", "    assert 1\n")])
    outcome = await outcome_of(model)
    assert "test_price.py, line 2: Expected an indented block" in model.last_words[1]
    assert outcome.attempt.works


# Files as a whole


async def test_a_file_is_deleted_and_another_moved_where_the_role_may() -> None:
    model = ScriptedModel(["I tidy up.\n\nDELETE FILE: notes.md\nRENAME FILE: price.py -> cost.py\n"])
    outcome = await outcome_of(model, work(moves_files=True))
    assert outcome.rationale == "I tidy up."
    assert outcome.attempt.files == {"notes.md": None, "price.py": None, "cost.py": FILES["price.py"]}
    assert outcome.attempt.renames == {"price.py": "cost.py"}


async def test_a_role_that_may_not_is_told_and_nothing_moves() -> None:
    replies = ["DELETE FILE: notes.md\nRENAME FILE: price.py -> cost.py\n", block(NEW, "", check_file(a=True))]
    model = ScriptedModel(replies)
    outcome = await outcome_of(model)
    assert "notes.md has to stay where it is." in model.last_words[1]
    assert outcome.attempt.files == {NEW: check_file(a=True)}
    assert not outcome.attempt.renames


async def test_a_rename_to_a_path_the_role_may_not_touch_leaves_the_file_where_it_is() -> None:
    replies = ["RENAME FILE: price.py -> cost.py\n", block(NEW, "", check_file(a=True))]
    model = ScriptedModel(replies)
    outcome = await outcome_of(model, work(moves_files=True, refusal=lambda path: "no" if path == "cost.py" else None))
    assert outcome.attempt.files == {NEW: check_file(a=True)}


async def test_a_repair_edits_what_was_renamed_before() -> None:
    renamed = "RENAME FILE: price.py -> cost.py\n" + block(NEW, "", check_file(a=False))
    model = ScriptedModel([renamed, change("a", True) + block("cost.py", "def total(items):\n", "def total(all):\n")])
    outcome = await outcome_of(model, work(moves_files=True))
    assert outcome.attempt.renames == {"price.py": "cost.py"}
    assert outcome.attempt.files["cost.py"] == FILES["price.py"].replace("(items):", "(all):")


async def test_a_repair_that_says_again_what_goes_and_what_moves_is_understood() -> None:
    moves = "DELETE FILE: notes.md\nRENAME FILE: price.py -> cost.py\n"
    model = ScriptedModel([moves + block(NEW, "", check_file(a=False)), moves + change("a", True)])
    outcome = await outcome_of(model, work(moves_files=True))
    assert not outcome.problems
    assert len(model.last_words) == 2, "nothing was asked again"
    assert outcome.attempt.files["notes.md"] is None
    assert outcome.attempt.renames == {"price.py": "cost.py"}
    assert outcome.attempt.files[NEW] == check_file(a=True)


async def test_a_repair_that_names_a_file_as_it_was_called_before_is_told_its_new_name() -> None:
    renamed = "RENAME FILE: price.py -> cost.py\n" + block(NEW, "", check_file(a=False))
    wrong = change("a", True) + block("price.py", "def total(items):\n", "def total(all):\n")
    model = ScriptedModel([renamed, wrong, block("cost.py", "def total(items):\n", "def total(all):\n")])
    outcome = await outcome_of(model, work(moves_files=True))
    assert "price.py is cost.py by now; name it so." in model.last_words[2]
    assert outcome.attempt.files["cost.py"] == FILES["price.py"].replace("(items):", "(all):")


async def test_a_file_that_was_broken_before_may_be_moved_as_it_is() -> None:
    model = ScriptedModel(["RENAME FILE: broken.py -> sound.py\n"])
    outcome = await outcome_of(
        model, work(files={"broken.py": "def f(:\n"}, run=lambda files: TestRun("ran"), moves_files=True)
    )
    assert outcome.attempt.works


WRONG = "def total(items):\n    return sum(items) + 1\n"
CODE = {"price.py": WRONG}
FAILS = (TestResult("price.py::total", "failed", message="2 is not 1"), TestResult("price.py::tax", "failed"))


def total_is(value: str) -> str:
    return block("price.py", "    return sum(items) + 1\n", f"    return {value}\n")


class Climber:
    """A ladder whose tests look at the text: each of `needs` that it holds is a test that passes."""

    needs = ("sum(items)", "# tax")

    def __init__(self) -> None:
        self.climbed: list[tuple[tuple[Try, ...], Attempt]] = []
        self.runs = 0

    def run(self, files: Mapping[str, str]) -> TestRun:
        self.runs += 1
        text = files["price.py"]
        ends = [need in text and "+ 1" not in text for need in self.needs]
        outcomes = [replace(test, outcome="passed") if ended else test for test, ended in zip(FAILS, ends, strict=True)]
        return TestRun("ran", outcomes=tuple(outcomes))

    async def climb(self, tries: Sequence[Try], best: Attempt) -> Rung:
        self.climbed.append((tuple(tries), best))
        return Rung((ChatMessage("user", f"rung {len(tries) + 1}"),))

    @property
    def work(self) -> AttemptWork:
        ladder = Ladder(Attempt({}, TestRun("ran", outcomes=FAILS), failures=FAILS), self.climb)
        plain = work(files=CODE, run=self.run, before=TestRun("ran"))
        return replace(plain, ladder=ladder)


async def test_a_repair_that_helps_is_kept_and_the_next_rung_builds_on_it() -> None:
    climber = Climber()
    model = ScriptedModel(
        [total_is("sum(items)"), block("price.py", "    return sum(items)\n", "    return sum(items)  # tax\n")]
    )
    outcome = await outcome_of(model, climber.work)
    assert outcome.attempt.files == {"price.py": "def total(items):\n    return sum(items)  # tax\n"}
    assert (outcome.repairs, model.last_words) == (1, ["Do it.", "rung 2"])
    ((tries, best),) = climber.climbed
    assert tries[0].helped
    assert best.files == {"price.py": "def total(items):\n    return sum(items)\n"}


async def test_a_repair_that_does_not_help_is_taken_back_before_the_next() -> None:
    climber = Climber()
    model = ScriptedModel([f"Hypothesis: one too few.\n\n{total_is('0')}", total_is("sum(items)  # tax")])
    outcome = await outcome_of(model, climber.work)
    assert outcome.attempt.works
    ((tries, best),) = climber.climbed
    assert (tries[0].said, tries[0].helped, best.files) == ("Hypothesis: one too few.", False, {})


async def test_the_same_edits_are_answered_with_that_and_not_run_again() -> None:
    climber = Climber()
    outcome = await outcome_of(
        ScriptedModel([total_is("0"), total_is("0"), total_is("sum(items)  # tax")]), climber.work
    )
    assert outcome.attempt.works
    assert climber.runs == 2
    assert [one.is_again for one in climber.climbed[-1][0]] == [False, True]


async def test_a_repair_that_sees_no_cause_climbs_on() -> None:
    climber = Climber()
    model = ScriptedModel(["No change: I need to see tax.", total_is("sum(items)  # tax")])
    assert (await outcome_of(model, climber.work)).attempt.works
    ((tries, _),) = climber.climbed
    assert tries[0].attempt is None
    assert "I need to see tax" in tries[0].said


async def test_a_repair_that_comes_to_nothing_proposes_nothing_and_says_what_was_tried() -> None:
    climber = Climber()
    model = ScriptedModel([f"Hypothesis: {n}.\n\n{total_is(str(n))}" for n in range(MAX_REPAIRS + 1)])
    with pytest.raises(NothingToChange, match=r"None of 4 attempts .* Hypothesis: 0\.; Hypothesis: 1\."):
        await outcome_of(model, climber.work)


async def test_a_repair_that_does_not_parse_is_corrected_where_it_is() -> None:
    climber = Climber()
    mended = block("price.py", "    return (sum(items)\n", "    return sum(items)  # tax\n")
    outcome = await outcome_of(ScriptedModel([total_is("(sum(items)"), mended]), climber.work)
    assert outcome.attempt.works
    assert climber.climbed == []


async def test_a_repair_keeps_what_helped_when_the_model_fails() -> None:
    outcome = await outcome_of(ScriptedModel([total_is("sum(items)"), GONE]), Climber().work)
    assert outcome.interrupted is GONE
    assert len(outcome.attempt.failures) == 1
    with pytest.raises(ConnectionFailed):
        await outcome_of(ScriptedModel([total_is("0"), GONE]), Climber().work)


async def test_a_repair_in_a_conversation_of_its_own_is_told_what_was_from_memory() -> None:
    reply = "Note: acme.sums.exact: adds without an error\n\n" + block(
        NEW, "", "def test_exact():\n    exact = len\n    assert exact([1]) == 2\n"
    )
    mended = block(NEW, "    assert exact([1]) == 2\n", "    assert exact([1]) == 1\n")
    model = ScriptedModel([reply, mended])
    opened = (ChatMessage("user", "A test fails."),)
    noting = replace(work(), unfound={"acme.sums.exact"}, begin_repair=lambda attempt, said: opened)
    outcome = await work_out(noting, model, lambda *_: None)
    assert [message.text.partition("\n")[0] for message in model.asked[1]] == ["A test fails."]
    assert model.last_words[1].endswith("may be wrong there:\n- acme.sums.exact: adds without an error")
    assert [str(note) for note in outcome.attempt.notes] == ["acme.sums.exact: adds without an error"]
