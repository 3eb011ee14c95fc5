"""`rolecall documents` as a person or a script runs it: real processes, no model."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rolecall_server.review.proposals.anchor import text_with
from rolecall_server.review.proposals.proposal import HunkState
from rolecall_server.review.proposals.proposal_store import decide, save_proposal
from rolecall_server.team.documents import (
    Content,
    Design,
    Fact,
    FileWork,
    Priority,
    Requirement,
    Requirements,
    SymbolWork,
    Task,
    TaskList,
    Understanding,
)
from rolecall_server.team.documents.document_store import load_document, publish
from support.proposals import propose, store_of
from support.workspaces import environment, write_workspace

WANTED = Requirements(
    title="Fair prices",
    requirements=(Requirement(id="R1", title="Rounded", priority=Priority.P0, consequence="two places"),),
)
DESIGN = Design(
    title="Fair prices",
    approach="Round.",
    files_to_change=(FileWork(path="shop/price.py", what="rounding"),),
    symbols_to_change=(SymbolWork(symbol="shop/price.py::totl", serves=("R2",), what="rounds"),),
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_workspace(tmp_path / "work")


def write_down(root: Path, *contents: Content) -> None:
    """A run in the user's store that wrote these documents."""
    store = store_of(root.parent / "home")
    run_id = store.add_run(root, "team", "", "fair prices")
    for content in contents:
        publish(store, run_id, "Product Manager", content)
    store.close()


def rolecall(root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-I", "-m", "rolecall_server", "documents", *words]
    environ = environment(root.parent / "home")
    return subprocess.run(command, cwd=root, env=environ, capture_output=True, text=True, check=False)


def version(root: Path, document_id: str) -> int:
    store = store_of(root.parent / "home")
    try:
        return load_document(store, document_id).version
    finally:
        store.close()


def test_documents_are_listed_by_run(root: Path):
    assert rolecall(root).stdout == "The team has written nothing down for this repository yet.\n"
    write_down(root, WANTED, DESIGN)
    assert rolecall(root).stdout == (
        "r1\n"
        "  d1  requirements, version 1 by Product Manager: Fair prices\n"
        "  d2  design, version 1 by Product Manager: Fair prices\n"
    )
    listed: Any = json.loads(rolecall(root, "--json").stdout)
    assert [(each["id"], each["kind"], each["runId"]) for each in listed] == [
        ("d1", "requirements", "r1"),
        ("d2", "design", "r1"),
    ]


def test_what_is_printed_edited_and_taken_is_the_next_version(root: Path, tmp_path: Path):
    write_down(root, WANTED)
    edited = tmp_path / "edited.md"
    edited.write_text(rolecall(root, "d1").stdout.replace("### R1: Rounded", "### R1: Rounded up"), encoding="utf-8")
    assert rolecall(root, "d1", "--take", str(edited)).stdout == "d1 is in version 2.\n"
    assert "### R1: Rounded up" in rolecall(root, "d1").stdout


def test_a_text_that_cannot_be_read_is_refused_with_its_line(root: Path, tmp_path: Path):
    write_down(root, WANTED)
    edited = tmp_path / "edited.md"
    edited.write_text(rolecall(root, "d1").stdout.replace("P0", "urgent"), encoding="utf-8")
    refused = rolecall(root, "d1", "--take", str(edited))
    assert refused.returncode == 1
    line = edited.read_text(encoding="utf-8").split("\n").index("- **Priority:** urgent") + 1
    assert f"edited.md:{line}: Priority: input should be 'P0', 'P1' or 'P2'" in refused.stderr
    assert version(root, "d1") == 1


def test_a_check_says_what_leads_nowhere_and_ends_with_one(root: Path):
    write_down(root, WANTED, DESIGN)
    checked = rolecall(root, "r1", "--check")
    assert checked.stdout.splitlines() == [
        "d2: R2 does not exist",
        "d2: shop/price.py defines no totl; is it shop/price.py::total?",
        "R1 has no design element and no task",
    ]
    assert checked.returncode == 1


def test_a_check_says_which_code_changed_since_it_was_accepted(root: Path):
    store, price = store_of(root.parent / "home"), root / "shop/price.py"
    reviewed = propose(store, root, {"shop/price.py": price.read_text().replace("sum(items)", "round(sum(items), 2)")})
    (change,) = reviewed.proposal.files
    serving = replace(change, hunks=tuple(replace(hunk, serves=("R1",)) for hunk in change.hunks))
    save_proposal(store, replace(reviewed.proposal, files=(serving,)))
    publish(store, reviewed.proposal.run_id, "Product Manager", WANTED)
    decide(store, reviewed, {"h1": HunkState.ACCEPTED})
    store.close()
    price.write_text(text_with(change, ["h1"]) or "")
    assert rolecall(root, "r1", "--check").stdout == "Everything fits.\n"
    price.write_text(price.read_text().replace("round(", "floor("))
    assert rolecall(root, "r1", "--check").stdout == "R1: shop/price.py changed since p1/h1 was accepted\n"


def test_a_check_says_which_decided_task_is_missing_and_what_it_lacks(root: Path):
    store, price = store_of(root.parent / "home"), root / "shop/price.py"
    reviewed = propose(store, root, {"shop/price.py": price.read_text().replace("sum(items)", "round(sum(items), 2)")})
    (change,) = reviewed.proposal.files
    serving = replace(change, hunks=tuple(replace(hunk, serves=("T1", "R1")) for hunk in change.hunks))
    save_proposal(store, replace(reviewed.proposal, files=(serving,)))
    work = (
        Task(id="T1", title="Round", serves=("R1",), files=("shop/price.py",)),
        Task(id="T2", title="Tax", serves=("R1",), files=("shop/tax.py",)),
    )
    design = Design(
        title="Fair prices",
        approach="Round.",
        files_to_change=DESIGN.files_to_change,
        files_to_add=(FileWork(path="shop/tax.py", what="the tax"), FileWork(path="shop/vat.py", what="more of it")),
    )
    for content in (WANTED, design, TaskList(title="Work", tasks=work)):
        publish(store, reviewed.proposal.run_id, "Product Manager", content)
    waiting = json.loads(rolecall(root, "r1", "--check", "--json").stdout)
    assert "T2 is not done" not in str(waiting), "nothing is decided yet"
    decide(store, reviewed, {"h1": HunkState.ACCEPTED})
    store.close()
    price.write_text(text_with(change, ["h1"]) or "")
    checked = rolecall(root, "r1", "--check")
    assert (checked.stdout.splitlines(), checked.returncode) == (
        [
            "T2 is not done: shop/tax.py does not exist; nothing that was accepted serves it",
            "shop/vat.py was to be added, and does not exist",
        ],
        1,
    )


def test_documents_that_fit_are_said_to(root: Path):
    write_down(root, Understanding(title="shop", facts=(Fact(topic="Tests", text="pytest"),)))
    checked = rolecall(root, "--check")
    assert (checked.stdout, checked.returncode) == ("Everything fits.\n", 0)


def test_a_repository_is_told_without_a_run_or_a_model(root: Path):
    told = rolecall(root, "--understand").stdout
    assert "# shop\n" in told
    assert "- **Tests:** 1 test in 1 file, most in `tests`; run by pytest\n" in told


def test_what_does_not_exist_is_said_to_be_missing(root: Path):
    missing = rolecall(root, "d9")
    assert missing.returncode == 1
    assert "There is no d9 here." in missing.stderr
