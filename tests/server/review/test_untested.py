"""Which files of a proposal change code or tests though no test ran with it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from rolecall_server.review.checks.untested import untested_paths
from rolecall_server.review.proposals.changes import changes_of
from rolecall_server.review.proposals.evidence import Evidence, Failure, Tally
from rolecall_server.review.proposals.proposal import Proposal
from rolecall_server.review.proposals.rendering import render_evidence
from rolecall_server.workspace import Workspace

NOTHING = Evidence(ran=False, reason="pytest could not start: no module named x.")
DOCUMENTED = '"""A shop."""\n\n\ndef total(items):\n    """Add them."""\n    return sum(items)  # all\n'


def untested(
    root: Path, files: Mapping[str, str | None], evidence: Evidence = NOTHING, renames: Mapping[str, str] | None = None
) -> tuple[str, ...]:
    (root / "shop.py").write_text(DOCUMENTED)
    changes = changes_of(Workspace(root), files, renames or {})
    proposal = Proposal("p1", "r1", "Engineer", "A shop", "", "", changes, evidence)
    return untested_paths(proposal, {hunk.id for _, hunk in proposal.hunks()})


@pytest.mark.parametrize(
    "path", ["README.md", "docs/index.rst", "CHANGELOG", "LICENSE", "docs/notes.txt", "AGENTS.md", ".rolecall/rules.md"]
)
def test_documentation_is_no_code(tmp_path: Path, path: str) -> None:
    assert untested(tmp_path, {path: "Words.\n"}) == ()


@pytest.mark.parametrize(
    "path",
    ["cart.py", "tests/test_cart.py", "pyproject.toml", "app.js", "page.html", "requirements.txt", "tests/data/in.txt"],
)
def test_everything_else_is(tmp_path: Path, path: str) -> None:
    assert untested(tmp_path, {path: "words = 1\n", "README.md": "Words.\n"}) == (path,)


def test_what_goes_or_gets_another_name_is_code_too(tmp_path: Path) -> None:
    assert untested(tmp_path, {"shop.py": None}) == ("shop.py",)
    moved: Mapping[str, str | None] = {"shop.py": None, "store.py": DOCUMENTED}
    assert untested(tmp_path, moved, renames={"shop.py": "store.py"}) == ("shop.py",)


@pytest.mark.parametrize(
    ("old", "new", "is_code"),
    [
        ("# all", "# all of them", False),
        ("Add them.", "Add all of them.", False),
        ("A shop.", "A good shop.", False),
        ("Add them.", ">>> total([])\\n0", True),
        ("sum(items)", "sum(items, 0)", True),
        ("items):", "items) -> int:", True),
    ],
)
def test_comments_and_docstrings_are_no_code_but_examples_that_run_are(
    tmp_path: Path, old: str, new: str, is_code: bool
) -> None:
    assert bool(untested(tmp_path, {"shop.py": DOCUMENTED.replace(old, new)})) is is_code


@pytest.mark.parametrize(
    ("after", "is_tested"),
    [
        (Tally(1, 0), True),
        (Tally(0, 1), True),
        (Tally(0, 2, 0, broken=1), True),
        (Tally(0, 2, 3, broken=2), False),
        (Tally(0, 0, 5), False),
        (None, False),
    ],
)
def test_tests_that_were_skipped_or_could_not_begin_have_tested_nothing(
    tmp_path: Path, after: Tally | None, is_tested: bool
) -> None:
    evidence = Evidence(ran=after is not None, after=after)
    assert (untested(tmp_path, {"cart.py": "x = 1\n"}, evidence) == ()) is is_tested
    assert render_evidence(evidence)[0].startswith("Tests not run: ") is not is_tested


def test_the_first_line_of_evidence_says_what_was_not_run() -> None:
    conftest = "3 tests that need tests/db/conftest.py, which cannot be imported."
    failing = Failure("a.py::test_a", "AssertionError")
    evidence = Evidence(ran=True, after=Tally(1, 1), failures=(failing,), not_run=(conftest,))
    assert render_evidence(evidence)[:2] == [
        "Not run: 3 tests that need tests/db/conftest.py, which cannot be imported.",
        "Checked: 1 passed, 1 failed.",
    ]
    broken = Failure("tests/conftest.py", "ModuleNotFoundError: No module named 'docker'", failed_before=True)
    unread = Evidence(ran=True, after=Tally(0, 1, broken=1), failures=(broken,))
    assert render_evidence(unread)[0] == (
        "Tests not run: tests/conftest.py cannot be imported: ModuleNotFoundError: No module named 'docker'."
    )
    assert render_evidence(NOTHING)[0] == "Tests not run: pytest could not start: no module named x."
