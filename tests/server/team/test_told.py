"""What each role of the team is told: whole, so that a change of any word is seen; and what it is not told.

``pytest tests/server/team --inline-snapshot=fix`` writes the files anew.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from inline_snapshot import external_file

from rolecall_server.sandbox import NotRun, TestResult, TestRun
from rolecall_server.settings import Settings
from rolecall_server.team.messages.edits import SharedBench
from support.edits import block
from support.shop_team import BRIEF, DESIGN, RECEIPT, REQUIREMENTS, TASKS, TAX, shop_speeches
from support.team_model import TeamModel, fenced
from support.team_run import OFF, TeamRun, play, team_run

WITHOUT_TESTER = ["product_manager", "architect", "project_manager", "engineer", "reviewer"]
RULED = Settings.model_validate({"context": {"houseRules": "always"}})


async def told(run: TeamRun, who: str) -> str:
    """All that *who* was told the first time, once the run is done."""
    ended = await run.go_on()
    assert ended.errors == ()
    assert isinstance(run.model, TeamModel)
    return run.model.told(who)


def schema_in(text: str) -> dict[str, Any]:
    return json.loads(text[text.index('{"$defs"') :])


class Failing(SharedBench):
    """A bench on which the tests of the tax fail, and others pass."""

    async def run(
        self,
        files: Mapping[str, str | None],
        targets: Sequence[str],
        measure: Sequence[str],
        *,
        whole: bool = False,
        later: Collection[str] = (),
    ) -> TestRun | NotRun:
        bad = TestResult(
            "tests/test_tax.py::test_tax_is_added",
            "failed",
            message="assert 100 == 150",
            detail="E   assert 100 == 150",
        )
        good = TestResult("tests/test_price.py::test_total_of_nothing", "passed")
        return TestRun("ran", outcomes=(good, bad) if "tests/test_tax.py" in files else (good,))


class FailingBesideAnother(Failing):
    """A bench on which of the two tests of the sprint one fails."""

    async def run(
        self,
        files: Mapping[str, str | None],
        targets: Sequence[str],
        measure: Sequence[str],
        *,
        whole: bool = False,
        later: Collection[str] = (),
    ) -> TestRun | NotRun:
        run = await super().run(files, targets, measure, whole=whole, later=later)
        assert isinstance(run, TestRun)
        other = TestResult("tests/test_tax.py::test_receipt_names_the_total", "passed")
        return TestRun("ran", outcomes=(*run.outcomes, other)) if "tests/test_tax.py" in files else run


@pytest.fixture(scope="module")
def whole_run(tmp_path_factory: pytest.TempPathFactory) -> TeamModel:
    """A run in which every role has to say something, repairs and answers included."""
    blocker = {
        "id": "F1", "title": "Below 0.", "severity": "blocker", "rests_on": "R1",
        "file": "shop/price.py", "first_line": 4, "last_line": 4,
    }  # fmt: skip
    model = TeamModel(
        shop_speeches(
            Engineer_repair="Finding: test_tax_is_added: it should expect 100 by R1.",
            QA_Engineer_repair="Finding: test_tax_is_added: the tax is not added, it should be by R1.",
            Reviewer=fenced({"title": "One", "findings": [blocker]}),
            Engineer_answer="ANSWER F1: declined: it may be.",
        )
    )
    run = team_run(tmp_path_factory.mktemp("told"), model, bench=Failing(OFF, OFF, 1.0)).begin(BRIEF)
    (run.root / "README.md").write_text("# Shop\n")
    assert play(run).errors == ()
    return model


@pytest.mark.parametrize(
    "who",
    [
        *("Product Manager", "Architect", "Project Manager", "Engineer T1", "QA Engineer", "Engineer repair"),
        *("QA Engineer repair", "Reviewer", "Engineer answer"),
    ],
)
def test_what_each_role_reads(whole_run: TeamModel, who: str) -> None:
    said = whole_run.told(who).partition("of this JSON schema:")[0].rstrip() + "\n"
    assert said == external_file(f"prompts/team_{who.lower().replace(' ', '_')}.txt")


def test_nobody_is_asked_twice_where_everybody_answers(whole_run: TeamModel) -> None:
    assert all(whole_run.asked.count(who) == 1 for who in whole_run.asked)


async def test_the_architect_sees_what_the_repository_says_of_itself_to_others(tmp_path: Path) -> None:
    run = team_run(tmp_path, TeamModel(shop_speeches())).begin(BRIEF)
    (run.root / "README.md").write_text("# Shop\n\nPrices and carts.\n")
    (run.root / "shop/__init__.py").write_text('from shop.price import total\n\n__all__ = ["total"]\n')
    text = await told(run, "Architect")
    assert "README.md (what the repository says of itself)" in text
    assert text.count("## shop/__init__.py (") == 1
    assert '__all__ = ["total"]' in text


async def test_of_a_long_readme_the_architect_sees_the_beginning(tmp_path: Path) -> None:
    run = team_run(tmp_path, TeamModel(shop_speeches())).begin(BRIEF)
    (run.root / "README.md").write_text("".join(f"Line {n} of what there is to say.\n" for n in range(5_000)))
    text = await told(run, "Architect")
    assert "Line 9 of" in text
    assert "Line 999 of" not in text
    assert "of 5000 lines)" in text


@pytest.mark.parametrize(("brief", "offered"), [("Let total take a tax.", False), (f"{BRIEF} " * 6, True)])
async def test_a_chart_of_products_is_offered_where_the_brief_is_large(
    tmp_path: Path, brief: str, offered: bool
) -> None:
    run = team_run(tmp_path, TeamModel(shop_speeches())).begin(brief)
    schema = schema_in(await told(run, "Product Manager"))
    assert ("comparison" in schema["properties"], "Quadrant" in schema["$defs"]) == (offered, offered)


async def test_nobody_is_asked_for_what_somebody_else_fills_later(tmp_path: Path) -> None:
    run = team_run(tmp_path, TeamModel(shop_speeches())).begin(BRIEF)
    review = schema_in(await told(run, "Reviewer"))
    assert not {"response", "reason"} & review["$defs"]["Finding"]["properties"].keys()
    assert isinstance(run.model, TeamModel)
    requirements = schema_in(run.model.told("Product Manager"))
    assert "answer" not in requirements["$defs"]["Question"]["properties"]


async def test_the_reviewer_is_told_who_uses_what_changes(tmp_path: Path) -> None:
    text = await told(team_run(tmp_path, TeamModel(shop_speeches())).begin(BRIEF), "Reviewer")
    assert "# Who uses what the change touches" in text
    assert "- shop/cart.py:5: `return total(cart)`" in text


async def test_users_have_the_numbers_that_their_lines_have_after_the_change(tmp_path: Path) -> None:
    shift = block("shop/cart.py", "from shop.price import total\n", "import os\n\nfrom shop.price import total\n")
    moved = shop_speeches(Engineer_T1=f"WIDEN: shop/cart.py: it calls it\n\n{TAX}\n{shift}")
    text = await told(team_run(tmp_path, TeamModel(moved)).begin(BRIEF), "Reviewer")
    assert "- shop/cart.py:7: `return total(cart)`" in text
    assert "- shop/cart.py:5:" not in text


async def test_who_only_calls_something_of_the_same_name_is_no_user(tmp_path: Path) -> None:
    run = team_run(tmp_path, TeamModel(shop_speeches())).begin(BRIEF)
    (run.root / "shop/sums.py").write_text("class Sum:\n    def total(self):\n        return 0\n")
    (run.root / "shop/till.py").write_text("def close(till):\n    return till.total()\n")
    text = await told(run, "Reviewer")
    assert "- shop/cart.py:5: `return total(cart)`" in text
    assert "shop/till.py" not in text.partition("# Who uses what the change touches")[2]


async def test_the_architect_sees_the_tests_of_what_the_brief_is_about(tmp_path: Path) -> None:
    run = team_run(tmp_path, TeamModel(shop_speeches())).begin(BRIEF)
    assert "## tests/test_price.py (the tests that exercise it" in await told(run, "Architect")


async def test_a_question_that_was_answered_is_told_by_its_answer_alone(tmp_path: Path) -> None:
    question = {
        "id": "Q1",
        "title": "Is the rate a share?",
        "options": ["a share", "per cent"],
        "recommended": "a share",
    }
    asked = {**REQUIREMENTS, "questions": [question]}
    run = team_run(tmp_path, TeamModel(shop_speeches(Product_Manager=fenced(asked)))).begin(BRIEF)
    for who in ("Architect", "Engineer T1", "Reviewer"):
        text = await told(run, who)
        assert text.count("- Q1: Is the rate a share?\n  a share (") == 1, who
        assert "per cent" not in text
        assert "**Answer:**" not in text


async def test_what_is_accepted_of_a_task_is_not_told_again_where_the_requirements_say_it(tmp_path: Path) -> None:
    run = team_run(tmp_path, TeamModel(shop_speeches())).begin(BRIEF)
    assert (await told(run, "Engineer T1")).count(REQUIREMENTS["requirements"][0]["consequence"]) == 1


async def test_who_repairs_sees_of_the_new_tests_those_that_fail(tmp_path: Path) -> None:
    speeches = shop_speeches(
        Engineer_repair="Finding: test_tax_is_added: it should expect 100 by R1.",
        QA_Engineer_repair="Finding: test_tax_is_added: the tax is not added, it should be by R1.",
    )
    run = team_run(tmp_path, TeamModel(speeches), bench=FailingBesideAnother(OFF, OFF, 1.0)).begin(BRIEF)
    for who in ("Engineer repair", "QA Engineer repair"):
        text = await told(run, who)
        assert "+ def test_tax_is_added():" in text, who
        assert "+ def test_receipt_names_the_total():" not in text
        assert "… 2 lines of tests that pass" in text


async def test_of_the_other_files_of_a_task_the_parts_that_matter_are_shown(tmp_path: Path) -> None:
    others = "".join(f"def other_{n}(cart):\n    first = {n}\n    return first\n\n\n" for n in range(500))
    task = {**TASKS["tasks"][0], "files": ["shop/price.py", "shop/cart.py"], "symbols": ["shop/cart.py::worth"]}
    tasks = {**TASKS, "tasks": [task, TASKS["tasks"][1]]}
    run = team_run(tmp_path, TeamModel(shop_speeches(Project_Manager=fenced(tasks)))).begin(BRIEF)
    (run.root / "shop/cart.py").write_text(
        f"from shop.price import total\n\n\n{others}def worth(cart):\n    return total(cart)\n"
    )
    text = await told(run, "Engineer T1")
    assert "def worth(cart):\n    return total(cart)\n" in text
    assert text.count("def other_") < 60


FINDING = {
    "id": "F1",
    "title": "Below 0.",
    "severity": "minor",
    "file": "shop/price.py",
    "first_line": 4,
    "last_line": 4,
    "rests_on": "R1",
}


async def test_who_answers_a_review_is_told_the_requirements_it_rests_on(tmp_path: Path) -> None:
    speeches = shop_speeches(
        Reviewer=fenced({"title": "One", "findings": [FINDING]}), Engineer_answer="ANSWER F1: declined: it may be."
    )
    text = await told(team_run(tmp_path, TeamModel(speeches)).begin(BRIEF), "Engineer answer")
    assert REQUIREMENTS["requirements"][0]["consequence"] in text


async def test_who_answers_a_review_is_shown_the_changed_files_that_it_is_about_and_the_names_of_the_others(
    tmp_path: Path,
) -> None:
    for file, is_all_shown in (("shop/price.py", False), ("shop/cart.py", True)):
        review = fenced({"title": "One", "findings": [{**FINDING, "file": file}]})
        speeches = shop_speeches(Reviewer=review, Engineer_answer="ANSWER F1: declined: it may be.")
        text = await told(team_run(tmp_path / file, TeamModel(speeches)).begin(BRIEF), "Engineer answer")
        assert "## shop/price.py\n" in text, file
        assert ("def test_" in text) is is_all_shown, file
        others = "Also changed, and not shown, as no finding is about them: "
        assert (others in text) is not is_all_shown, file


async def test_who_repairs_a_change_is_told_the_requirements_and_the_design(tmp_path: Path) -> None:
    broken = block("shop/cart.py", "    return total(cart)\n", "    return totals(cart)\n")
    tax = f"WIDEN: shop/cart.py: it calls it\n\n{TAX}\n{broken}"
    speeches = shop_speeches(Engineer_T1=tax, Engineer_repair=block("shop/cart.py", "totals(cart)", "total(cart)"))
    text = await told(team_run(tmp_path, TeamModel(speeches)).begin(BRIEF), "Engineer repair")
    assert REQUIREMENTS["requirements"][0]["consequence"] in text
    assert DESIGN["approach"] in text


async def test_where_nobody_else_writes_tests_the_engineer_may_beside_the_files_of_the_task(tmp_path: Path) -> None:
    test = block("tests/test_price.py", "", "def test_total_takes_a_tax():\n    assert total([2], 0.5) == 3\n")
    run = team_run(tmp_path, TeamModel(shop_speeches(Engineer_T1=f"{TAX}\n{test}"))).begin(BRIEF, WITHOUT_TESTER)
    text = await told(run, "Engineer T1")
    assert "Change shop/price.py and the tests of what you do only." in text
    edits = run.pool.latest("edits", "S1/T1")
    assert edits is not None
    assert "test_total_takes_a_tax" in edits.body


async def test_the_qa_engineer_extends_the_test_file_that_the_design_names(tmp_path: Path) -> None:
    design = {**DESIGN, "files_to_change": [*DESIGN["files_to_change"], {"path": "tests/test_tills.py", "what": "tax"}]}
    run = team_run(tmp_path, TeamModel(shop_speeches(Architect=fenced(design)))).begin(BRIEF)
    (run.root / "tests/test_tills.py").write_text("def test_till():\n    assert True\n")
    assert "tests/test_tills.py (the test file to extend)" in await told(run, "QA Engineer")


async def test_the_qa_engineer_of_a_new_module_sees_how_tests_are_written_here(tmp_path: Path) -> None:
    design = {
        "title": "A receipt",
        "approach": "A new module.",
        "files_to_add": DESIGN["files_to_add"],
        "symbols_to_add": [{"symbol": "shop/receipt.py::receipt", "serves": ["R1", "R2"], "what": "the receipt"}],
    }
    tasks = {
        "title": "A receipt",
        "tasks": [{"id": "T1", "title": "the receipt", "serves": ["R1", "R2"], "files": ["shop/receipt.py"]}],
    }
    test = block("tests/test_receipt.py", "", "def test_it_is_there():\n    assert True\n")
    speeches = shop_speeches(
        Architect=fenced(design), Project_Manager=fenced(tasks), Engineer_T1=RECEIPT, QA_Engineer=test
    )
    text = await told(team_run(tmp_path, TeamModel(speeches)).begin(BRIEF), "QA Engineer")
    assert "tests/test_price.py (how this repository writes tests)" in text


@pytest.mark.parametrize("who", ["Product Manager", "Architect", "Project Manager", "Engineer T1", "Reviewer"])
async def test_each_role_reads_the_rules_for_all_and_its_own(tmp_path: Path, who: str) -> None:
    run = team_run(tmp_path, TeamModel(shop_speeches()), settings=RULED).begin(BRIEF)
    own = who.removesuffix(" T1").lower().replace(" ", "_")
    (run.root / ".rolecall/rules").mkdir(parents=True)
    (run.root / ".rolecall/rules.md").write_text("Money is whole cents.\n")
    (run.root / f".rolecall/rules/{own}.md").write_text("Mind what this role was told before.\n")
    (run.root / ".rolecall/rules/somebody_else.md").write_text("This is for another.\n")
    text = await told(run, who)
    assert "Money is whole cents." in text
    assert "Mind what this role was told before." in text
    assert "This is for another." not in text
