"""Tests a model writes are run, shuffled and weighed; what is proposed passes, and what fails shows something."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from rolecall_analysis import Index
from rolecall_server.errors import ConnectionFailed, NothingToTest
from rolecall_server.model import NO_WISHES, ChatMessage, Chosen, Reply, Wishes
from rolecall_server.review.proposals.evidence import Evidence
from rolecall_server.review.proposals.rendering import render_evidence
from rolecall_server.settings import Settings, read_settings
from rolecall_server.team.request import Repository, RoleName, RunRequest
from rolecall_server.workspace import Workspace
from support.edits import block
from support.fixture import parse_fixture
from support.role_run import Finished, ask_role
from support.scripted_model import ScriptedModel
from support.stores import open_store
from support.workspaces import environment

PATH, TESTS = "shop/price.py", "tests/test_price.py"
SHOP = """
    #- shop/__init__.py
    #- shop/price.py
    def discount(price, rate=0.1):
        '''The price less the rate; a rate of 1 takes all of it.'''
        if rate >= 1:
            raise ValueError("rate")
        return price * (1 - rate)


    def share(total, n):
        '''What each of n people pays.'''
        return total // n
"""
TESTED = (
    SHOP
    + """
    #- tests/test_price.py
    import pytest

    from shop.price import discount, share


    def test_discount():
        assert [discount(10), discount(10, 0.5)] == [9, 5]
        for rate in (1, 2):
            with pytest.raises(ValueError, match="^rate$"):
                discount(10, rate)
        assert discount(10, 0.99) == pytest.approx(0.1)


    def test_share():
        assert share(7, 2) == 3
"""
)
ABOUT = "".join(
    f"    # {n}. What a price is, who pays it, and when, is agreed upon with those who sell.\n" for n in range(150)
)
LONG_SHOP = SHOP.replace("    def discount", f"{ABOUT}    def discount", 1)
"""A module of which the first request takes so much that a short one more is worth it."""
HEAD = "import pytest\n\nfrom shop.price import discount, share\n"


class HangingModel(ScriptedModel):
    """Falls silent after its last reply."""

    is_silent = asyncio.Event()

    async def complete(self, messages: Sequence[ChatMessage], wishes: Wishes = NO_WISHES) -> Reply:
        if len(self.asked) == len(self.replies):
            self.is_silent.set()
            await asyncio.Event().wait()
        return await super().complete(messages, wishes)


class Bench:
    """Runs the QA Engineer in a small workspace, with a model that follows a script."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.model = ScriptedModel([])

    async def run(
        self,
        replies: Sequence[str | BaseException],
        files: str = SHOP,
        *,
        worth_s: float = 0,
        symbol: str = "",
        brief: str = "",
        calls: int = 40,
        model: type[ScriptedModel] = ScriptedModel,
    ) -> Finished:
        root = parse_fixture(files).write_to(self._folder / "work").resolve()
        index = Index(root)
        index.scan()
        store = open_store(self._folder / "store.sqlite")
        given = {"tests": {"worthSeconds": worth_s}, "budget": {"callsPerRun": calls}}
        settings, problems = read_settings(given, {})
        assert not problems
        environ = environment(self._folder / "home")
        repository = Repository(Workspace(root), index.snapshot(), store, settings, environ)
        request = RunRequest(RoleName.QA_ENGINEER, PATH, symbol, brief)
        self.model = model(replies)
        try:
            return await ask_role(request, repository, Chosen(self.model, "the test names it"))
        finally:
            store.close()
            index.close()


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def written(finished: Finished) -> str:
    """The test file as it would be with all of the proposal that is not off until chosen."""
    (change,) = finished.proposal.files
    lines = list(change.base_lines)
    for hunk in reversed([hunk for hunk in change.hunks if not hunk.off]):
        lines[hunk.start : hunk.end] = hunk.new_lines
    return "".join(lines)


def left_out(evidence: Evidence) -> dict[str, str]:
    return {one.test.removeprefix(f"{TESTS}::"): one.reason for one in evidence.left_out}


def creating(*tests: str, said: str = "I test it.") -> str:
    return f"{said}\n\n" + block(TESTS, "", "\n\n".join((HEAD, *tests)))


SHARES = "def test_share():\n    assert share(7, 2) == 3\n"
TENTH = "def test_a_tenth():\n    assert discount(10) == 9\n"


async def test_a_test_that_neither_reaches_nor_notices_more_than_others_is_left_out(bench: Bench) -> None:
    again = "def test_share_again():\n    assert share(9, 4) == 2\n"
    refused = 'def test_refused():\n    with pytest.raises(ValueError, match="^rate$"):\n        discount(1, 2)\n'
    finished = await bench.run([creating(SHARES, TENTH, again, refused)], worth_s=60)
    evidence = finished.proposal.evidence
    (reason,) = left_out(evidence).values()
    assert reason == "reaches and notices nothing that the other tests do not"
    assert set(left_out(evidence)) <= {"test_share", "test_share_again"}
    kept = {one.test.rpartition("::")[2]: one for one in evidence.worth}
    assert kept.keys() == {"test_a_tenth", "test_refused", "test_share", "test_share_again"} - left_out(evidence).keys()
    assert all(one.mutants > 0 and one.lines > 0 and one.cases == 1 for one in kept.values())
    assert kept["test_refused"].branches == 1
    assert evidence.mutants is not None
    assert 0 < evidence.mutants.killed < evidence.mutants.total
    assert "line 4: '>=' became '>'" not in evidence.mutants.survivors
    assert evidence.orders == 3
    assert evidence.after is not None
    assert evidence.after.passed == 3


async def test_what_the_developers_tests_do_already_is_left_out(bench: Bench) -> None:
    reply = block(TESTS, "", "def test_half():\n    assert discount(10, 0.5) == 5\n") + block(
        TESTS, "", "def test_text():\n    assert share('a', 1) is None\n"
    )
    with pytest.raises(NothingToTest, match="test_half reaches and notices nothing") as raised:
        await bench.run([reply, "No.", "No.", "No."], TESTED, worth_s=60, brief="More of it.")
    assert "test_text fails: TypeError" in raised.value.what


async def test_tests_that_cannot_be_read_for_a_reason_known_before_are_neither_mended_nor_proposed(
    bench: Bench,
) -> None:
    to_install = SHOP.replace("__init__.py\n", "__init__.py\n    from shop._version import version\n", 1)
    files = f"{to_install}\n    #- tests/test_other.py\n    import shop.price\n"
    with pytest.raises(NothingToTest, match=r"fails: ModuleNotFoundError: No module named 'shop\._version'"):
        await bench.run([creating(SHARES, TENTH)], files)


async def test_code_whose_tests_notice_every_fault_gets_no_more_of_them(bench: Bench) -> None:
    with pytest.raises(NothingToTest, match=r"reach 100% of shop/price\.py and notice each of"):
        await bench.run([], TESTED, worth_s=60)
    assert bench.model.asked == []


async def test_where_all_is_reached_the_model_is_told_what_goes_unnoticed(bench: Bench) -> None:
    files = TESTED.replace("(1, 2)", "(3, 2)")
    reply = block(TESTS, "", "def test_all():\n    with pytest.raises(ValueError):\n        discount(10, 1)\n")
    finished = await bench.run([reply], files, worth_s=60)
    task = bench.model.last_words[0].partition("# Your task")[2]
    assert "faults pass. Write tests that notice these:" in task
    assert "- line 3, `if rate >= 1:`: `>=` -> `>`" in task
    assert "chosen was what they would not notice" in finished.proposal.rationale
    assert [one.test for one in finished.proposal.evidence.worth] == [f"{TESTS}::test_all"]


async def test_a_wrong_test_is_mended_in_a_conversation_that_shows_it_and_the_code(bench: Bench) -> None:
    wrong = '@pytest.mark.parametrize("n", [\n    1,\n    2,\n])\ndef test_share(n):\n    assert share(6, n) == 3\n'
    mended = "The first expects too little.\n\n" + block(TESTS, "    1,\n", "")
    finished = await bench.run([creating(TENTH, wrong), mended])
    assert finished.proposal.evidence.after is not None
    assert finished.proposal.evidence.after.passed == 2
    assert finished.proposal.evidence.repairs == 1
    asked = bench.model.asked[1]
    assert [message.role for message in asked] == ["system", "user"]
    shown = asked[1].text
    assert "def share(total, n):" in shown
    assert "def discount" not in shown
    assert "    1,\n    [cases that pass]\n" in shown
    assert "Case 1: " in shown
    assert "assert 6 == 3" in shown


async def test_a_finding_is_shown_by_a_failing_test_that_is_offered_marked_and_off_until_chosen(bench: Bench) -> None:
    finding = (
        "Finding: shop/price.py::discount: a rate of 1 is refused, but it should take all of the price. "
        "Shown by test_all_of_it."
    )
    shows = "def test_all_of_it():\n    assert discount(10, rate=1) == 0\n"
    finished = await bench.run([creating(TENTH, SHARES, shows, said=f"The edges.\n\n{finding}")])
    evidence = finished.proposal.evidence
    (defect,) = evidence.defects
    assert (defect.path, defect.symbol, defect.line) == (PATH, "discount", 0)
    assert defect.sentence == "a rate of 1 is refused, but it should take all of the price."
    assert (defect.test, defect.call) == (f"{TESTS}::test_all_of_it", "discount(10, rate=1)")
    assert "ValueError: rate" in defect.seen
    assert left_out(evidence) == {"test_all_of_it": "shows a finding"}
    (change,) = finished.proposal.files
    (shown,) = [hunk for hunk in change.hunks if hunk.off]
    mark = f"@pytest.mark.xfail(strict=True, reason='discount: {defect.sentence}')\n"
    assert "".join(shown.new_lines).lstrip("\n") == f"{mark}{shows}"
    assert defect.offered == f"{TESTS}::test_all_of_it"
    assert "test_all_of_it" not in written(finished)
    assert len(bench.model.asked) == 1, "what it announced needs no repair"
    assert "Finding" not in finished.proposal.rationale
    assert (evidence.after and evidence.after.failed) == 0


async def test_a_repair_is_told_what_was_reported_and_what_will_be_left_out_and_why(bench: Bench) -> None:
    shows = "def test_all_of_it():\n    assert discount(10, rate=1) == 0\n"
    wrong = "def test_share():\n    assert share(7, 2) == 4\n"
    fixed = (
        'def test_fixed(monkeypatch):\n    monkeypatch.setattr("shop.price.share", max)\n    assert share(1, 1) == 1\n'
    )
    said = "Finding: shop/price.py::discount: It refuses 1. Shown by test_all_of_it."
    mended = block(TESTS, "    assert share(7, 2) == 4\n", "    assert share(7, 2) == 3\n")
    finished = await bench.run([creating(TENTH, shows, wrong, fixed, said=said), mended])
    shown = bench.model.last_words[1]
    assert "# Reported before; do not report it again" in shown
    assert "- shop/price.py::discount: It refuses 1." in shown
    assert f"- {TESTS}::test_fixed: it replaces share, which it should test\n" in shown
    assert "test_all_of_it" not in shown.partition("# Reported before")[0]
    assert [defect.sentence for defect in finished.proposal.evidence.defects] == ["It refuses 1."]


async def test_what_is_found_while_mending_is_a_finding_too(bench: Bench) -> None:
    shows = "def test_all_of_it():\n    assert discount(10, 1) == 0\n"
    found = "The code is wrong.\n\nFinding: shop/price.py::discount: It refuses 1. Shown by test_all_of_it."
    finished = await bench.run([creating(TENTH, shows), found])
    assert [defect.sentence for defect in finished.proposal.evidence.defects] == ["It refuses 1."]
    assert "test_all_of_it" not in written(finished)
    assert len(bench.model.asked) == 2


async def test_a_finding_that_is_told_again_in_other_words_is_told_once(bench: Bench) -> None:
    said = (
        "Finding: shop/price.py::discount: It refuses 1. Shown by test_all_of_it.\n"
        "Finding: shop/price.py::discount: A rate of 1 raises, but takes all of it. Shown by test_all_of_it.\n"
        "Finding: shop/price.py::discount: The edge is wrong: see `discount(10, 1)`. Shown by test_edge.\n"
        "Finding: shop/price.py::discount: A rate of 2 is refused. Shown by test_too_much."
    )
    shows = "def test_all_of_it():\n    assert discount(10, 1) == 0\n"
    edge = "def test_edge():\n    assert 0 == discount(10, 1)\n"
    other = "def test_too_much():\n    assert discount(10, 2) == -10\n"
    finished = await bench.run([creating(TENTH, shows, edge, other, said=said)])
    evidence = finished.proposal.evidence
    assert [defect.sentence for defect in evidence.defects] == ["It refuses 1.", "A rate of 2 is refused."]
    (change,) = finished.proposal.files
    offered = "".join(line for hunk in change.hunks if hunk.off for line in hunk.new_lines)
    assert "def test_all_of_it" in offered
    assert "def test_too_much" in offered
    assert "def test_edge" not in offered


async def test_a_finding_shows_what_a_call_in_a_helper_gave_and_what_was_promised(bench: Bench) -> None:
    said = "Finding: shop/price.py::share: It rounds down, people pay too little. Shown by test_fair."
    helper = "def each_of(n):\n    return share(7, n)\n"
    fair = "def test_fair():\n    assert each_of(2) == 3.5\n"
    finished = await bench.run([creating(TENTH, helper, fair, said=said)])
    (defect,) = finished.proposal.evidence.defects
    assert (defect.call, defect.gave, defect.promised) == ("share(7, 2)", "3", "3.5")
    assert render_evidence(finished.proposal.evidence)[1:4] == ["  share(7, 2)", "  gave: 3", "  promised: 3.5"]


async def test_a_finding_whose_test_passes_is_none(bench: Bench) -> None:
    said = "Finding: shop/price.py::share: share(7, 2) is not 3. Shown by test_share."
    finished = await bench.run([creating(TENTH, SHARES, said=said)])
    evidence = finished.proposal.evidence
    assert evidence.defects == ()
    assert evidence.notes == ("Not confirmed, its test passes: share: share(7, 2) is not 3.",)
    assert "def test_share" in written(finished)


async def test_no_test_holds_for_right_what_was_reported_as_wrong(bench: Bench) -> None:
    said = "Finding: shop/price.py::share: it rounds down, people pay too little. Shown by test_fair."
    fair = "def test_fair():\n    assert share(7, 2) == 3.5\n"
    table = (
        '@pytest.mark.parametrize(("total", "n", "each"), [(7, 2, 3), (8, 2, 4)])\n'
        "def test_table(total, n, each):\n    assert share(total, n) == each\n"
    )
    alone = "def test_alone():\n    assert share(7,  2) == 3\n"
    finished = await bench.run([creating(TENTH, fair, table, alone, said=said)])
    text = written(finished)
    assert '@pytest.mark.parametrize(("total", "n", "each"), [(8, 2, 4)])' in text
    assert "test_alone" not in text
    reason = "makes the call that a finding about share is about"
    told = left_out(finished.proposal.evidence)
    assert (told["test_table"], told["test_alone"]) == (f"{reason} (1 of its 2 cases)", reason)


async def test_what_still_fails_after_the_repairs_is_left_out_case_by_case(bench: Bench) -> None:
    table = (
        '@pytest.mark.parametrize(("total", "each"), [\n    (8, 4),\n    (6, 4),\n    (4, 2),\n])\n'
        "def test_table(total, each):\n    assert share(total, 2) == each\n"
    )
    again = [block(TESTS, f"    (6, {n}),\n", f"    (6, {n + 1}),\n") for n in (4, 5, 6)]
    finished = await bench.run([creating(TENTH, table), *again])
    assert len(bench.model.asked) == 4
    assert "[\n    (8, 4),\n    (4, 2),\n]" in written(finished)
    assert left_out(finished.proposal.evidence)["test_table"].endswith("(1 of its 3 cases)")
    assert finished.proposal.evidence.new_failures == ()


async def test_a_package_that_the_code_needs_and_nobody_installed_is_no_fault_of_the_tests(bench: Bench) -> None:
    files = SHOP.replace("    def discount", "    import nowhere_to_be_found\n\n\n    def discount", 1)
    finished = await bench.run([creating(TENTH)], files)
    evidence = finished.proposal.evidence
    assert not evidence.ran
    assert evidence.reason.startswith("The package nowhere_to_be_found is not installed.")
    assert len(bench.model.asked) == 1, "no model can mend that"


async def test_a_package_that_only_a_test_wants_is_the_tests_fault(bench: Bench) -> None:
    reply = creating(TENTH).replace("import pytest", "import nowhere_to_be_found\nimport pytest")
    mended = block(TESTS, "import nowhere_to_be_found\n", "")
    finished = await bench.run([reply, mended])
    assert finished.proposal.evidence.ran
    assert "No module named 'nowhere_to_be_found'" in bench.model.last_words[1]


async def test_what_the_model_says_the_environment_lacks_is_left_out_and_said(bench: Bench) -> None:
    needs = "def test_shelf():\n    assert open('/shelf').read() == ''\n"
    finished = await bench.run([creating(TENTH, needs), "Environment: test_shelf: there is no shelf here."])
    assert left_out(finished.proposal.evidence) == {"test_shelf": "cannot run here: there is no shelf here."}


async def test_a_test_that_depends_on_the_order_is_left_out(bench: Bench) -> None:
    first = "def test_first():\n    discount.seen = True\n    assert discount(10) == 9\n"
    then = "def test_then():\n    assert discount.seen\n"
    more = [f"def test_more_{n}():\n    assert share({n}, 1) == {n}\n" for n in range(4)]
    finished = await bench.run([creating(first, *more, then)])
    assert left_out(finished.proposal.evidence) == {"test_then": "does not pass in every order"}


async def test_a_test_that_checks_nothing_is_left_out_with_the_import_it_needed(bench: Bench) -> None:
    reply = creating(TENTH, "def test_wait():\n    time.sleep(0.01)\n    assert share(1, 1) == 1\n")
    finished = await bench.run([reply.replace("import pytest\n", "import time\n")])
    assert left_out(finished.proposal.evidence) == {"test_wait": "sleeps"}
    assert written(finished) == f"from shop.price import discount\n\n\n{TENTH}"


async def test_the_developers_tests_stay_as_they_are(bench: Bench) -> None:
    files = (
        SHOP
        + "\n    #- tests/test_price.py\n    from shop.price import share\n\n\n    "
        + SHARES.replace("\n", "\n    ")
    )
    meddling = block(TESTS, "    assert share(7, 2) == 3\n", "    assert share(7, 2) < 4\n")
    adding = block(TESTS, "", "def test_one():\n    assert share(5, 1) == 5\n")
    finished = await bench.run([meddling, adding], files)
    assert "change test_share, which exist: leave them as they are." in bench.model.last_words[1]
    assert "assert share(7, 2) == 3" in written(finished)
    assert "def test_one" in written(finished)


async def test_where_nothing_else_is_left_the_test_of_a_finding_is_offered_alone_and_off(bench: Bench) -> None:
    said = "Finding: shop/price.py::discount: It refuses 1. Shown by test_all_of_it."
    shows = "def test_all_of_it():\n    assert discount(10, 1) == 0\n"
    finished = await bench.run([creating(shows, said=said)])
    (change,) = finished.proposal.files
    (hunk,) = change.hunks
    mark = "@pytest.mark.xfail(strict=True, reason='discount: It refuses 1.')\n"
    assert hunk.off
    assert "".join(hunk.new_lines) == (f"import pytest\nfrom shop.price import discount\n\n\n{mark}{shows}")
    assert "off until accepted by itself" in "\n".join(render_evidence(finished.proposal.evidence))


async def test_of_a_table_the_case_that_shows_a_finding_is_marked_alone(bench: Bench) -> None:
    said = "Finding: shop/price.py::share: it rounds down. Shown by test_table."
    table = (
        '@pytest.mark.parametrize(("total", "n", "each"), [\n    (8, 2, 4),\n    (7, 2, 3.5),\n])\n'
        "def test_table(total, n, each):\n    assert share(total, n) == each\n"
    )
    finished = await bench.run([creating(TENTH, table, said=said)])
    (change,) = finished.proposal.files
    (shown,) = ["".join(hunk.new_lines) for hunk in change.hunks if hunk.off]
    assert "(8, 2, 4)" in written(finished)
    assert "3.5" not in written(finished)
    assert "pytest.param(7, 2, 3.5, marks=pytest.mark.xfail(strict=True, reason='share: it rounds down.'))" in shown
    assert "def test_table_finding(total, n, each):" in shown
    assert "(8, 2, 4)" not in shown


LIMITS = """\
@pytest.mark.parametrize(("total", "n", "each"), [(7, 2, 3), (9, 3, 3)])
def test_shares(total, n, each):
    assert share(total, n) == each


def test_limit():
    assert discount(10, 0.99) == pytest.approx(0.1)
    with pytest.raises(ValueError, match="^rate$"):
        discount(10, 1)
"""


async def test_what_goes_unnoticed_is_asked_about_once_and_proven_like_the_rest(bench: Bench) -> None:
    wrong = "def test_too_much():\n    assert share(7, 2) == 4\n"
    idle = "def test_a_tenth_again():\n    assert discount(20) == 18\n"
    more = "The rest.\n\n" + block(TESTS, "", f"{LIMITS}\n\n{wrong}\n\n{idle}")
    finished = await bench.run([creating(TENTH), more], LONG_SHOP, worth_s=60)
    evidence = finished.proposal.evidence
    asked = bench.model.asked[1]
    assert [message.role for message in asked] == ["system", "user"]
    assert "] if rate > 1:\n" in asked[1].text
    assert "def share(total, n):" in asked[1].text
    assert "What a price is" not in asked[1].text
    assert written(finished).endswith(f"{TENTH}\n\n{LIMITS}")
    told = left_out(evidence)
    assert told.keys() == {"test_too_much", "test_a_tenth_again"}
    assert told["test_too_much"].startswith("fails: ")
    assert told["test_a_tenth_again"] == "reaches and notices nothing that the other tests do not"
    worth = {one.test.removeprefix(f"{TESTS}::"): one.mutants for one in evidence.worth}
    assert worth.keys() == {"test_a_tenth", "test_shares", "test_limit"}
    assert evidence.mutants is not None
    assert sum(worth.values()) == evidence.mutants.killed
    assert evidence.mutants.total - evidence.mutants.killed == len(evidence.mutants.survivors)
    assert "line 153: '>=' became '>'" not in evidence.mutants.survivors
    assert evidence.orders == 3
    (note,) = evidence.notes
    assert note.startswith("The model was asked once more, about ")
    assert evidence.after is not None
    assert (evidence.after.passed, evidence.after.failed) == (4, 0)


async def test_what_breaks_the_tests_that_were_proven_is_left_out_whole(bench: Bench) -> None:
    more = block(TESTS, "", "@nowhere\ndef test_shares():\n    assert share(7, 2) == 3\n")
    finished = await bench.run([creating(TENTH), f"Equivalent: 1\n\n{more}"], LONG_SHOP, worth_s=60)
    assert written(finished) == f"{HEAD}\n\n{TENTH}"
    broken, brought = finished.proposal.evidence.notes
    assert broken == "What the model then added was left out: with it, the other tests do not run."
    assert "the tests now notice 0 of them. By its word these make no difference: line 15" in brought


async def test_a_finding_about_what_went_unnoticed_is_one_too(bench: Bench) -> None:
    shows = "def test_all_of_it():\n    assert discount(10, rate=1) == 0\n"
    said = "Finding: shop/price.py::discount: It refuses 1. Shown by test_all_of_it."
    finished = await bench.run([creating(TENTH), f"{said}\n\n{block(TESTS, '', shows)}"], LONG_SHOP, worth_s=60)
    (defect,) = finished.proposal.evidence.defects
    assert (defect.sentence, defect.call) == ("It refuses 1.", "discount(10, rate=1)")
    assert written(finished) == f"{HEAD}\n\n{TENTH}"


async def test_a_model_that_fails_when_asked_once_more_costs_no_test(bench: Bench) -> None:
    finished = await bench.run([creating(TENTH), ConnectionFailed("It hung up.", "Try again.")], LONG_SHOP, worth_s=60)
    assert written(finished) == f"{HEAD}\n\n{TENTH}"
    (note,) = finished.proposal.evidence.notes
    assert note == "The model was not asked about the faults that go unnoticed: It hung up."


async def test_nobody_is_bothered_for_a_budget_that_has_no_room_for_asking_once_more(bench: Bench) -> None:
    finished = await bench.run([creating(TENTH)], LONG_SHOP, worth_s=60, calls=1)
    assert len(bench.model.asked) == 1
    (note,) = finished.proposal.evidence.notes
    assert "The run has used" in note


async def test_asking_once_more_can_be_cancelled(bench: Bench, tmp_path: Path) -> None:
    running = asyncio.ensure_future(bench.run([creating(TENTH)], LONG_SHOP, worth_s=60, model=HangingModel))
    await HangingModel.is_silent.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    store = open_store(tmp_path / "store.sqlite")
    assert store.run("r1").state == "cancelled"
    store.close()


def test_the_time_for_faults_is_a_setting() -> None:
    assert Settings().tests.worth_seconds == 30
