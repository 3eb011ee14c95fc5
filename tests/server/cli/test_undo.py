"""Taking back what was accepted: every byte as it was, or nothing and the reason."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rolecall_server.cli.files.disk import take_back, write_accepted
from rolecall_server.errors import HunkStale
from rolecall_server.review.proposals.proposal_store import load_proposal
from rolecall_server.review.taking_back import plan_undo
from rolecall_server.store import Store
from rolecall_server.workspace import Workspace, split_lines
from support.proposals import propose
from support.stores import open_store
from support.workspaces import contents

FILES = {
    "price.py": "def total(items):\n    return sum(items)\n\n\ndef tax(items):\n    return 0\n",
    "old.py": "OLD = True\n",
    "shop/cart.py": "from price import total\n",
}
BETTER = FILES["price.py"].replace("sum(items)", "sum(items) or 0").replace("return 0\n", "return 1\n")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = (tmp_path / "work").resolve()
    for path, text in FILES.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(tmp_path / "data" / "rolecall.db")


def accept(store: Store, root: Path, proposal_id: str) -> None:
    reviewed = load_proposal(store, proposal_id)
    write_accepted(store, Workspace(root), reviewed, list(reviewed.states))


def undo(store: Store, root: Path, proposal_id: str) -> None:
    reviewed = load_proposal(store, proposal_id)
    take_back(store, Workspace(root), reviewed, reviewed.accepted)


def test_edits_deletions_renames_and_new_files_are_taken_back_whole(root: Path, store: Store) -> None:
    before = contents(root)
    changes: dict[str, str | None] = {
        "price.py": BETTER,
        "old.py": None,
        "shop/cart.py": None,
        "shop/basket.py": "from price import tax\n",
        "shop/__init__.py": "",
        "new/deep/file.py": "x = 1\n",
    }
    proposal_id = propose(store, root, changes, {"shop/cart.py": "shop/basket.py"}).proposal.id
    accept(store, root, proposal_id)
    after = {path: text.encode() for path, text in changes.items() if text is not None}
    assert contents(root) == after
    undo(store, root, proposal_id)
    assert contents(root) == before
    assert not (root / "new").exists(), "folders that were made for it are gone too"
    accept(store, root, proposal_id)
    assert contents(root) == after, "what was taken back can be accepted again"


@pytest.mark.parametrize(
    "content",
    [
        "# coding: latin-1\nNAME = 'é'\n".encode("latin-1"),
        b"\xff\xfe" + "NAME = 'é'\r\n".encode("utf-16-le"),
        b"\xef\xbb\xbfNAME = 1\r\nX = 2",
        b"\x0c\r\nmixed = 1\nendings = 2\r",
    ],
    ids=["declared", "UTF-16", "marked, no last newline", "mixed endings"],
)
def test_a_deleted_file_comes_back_byte_for_byte(root: Path, store: Store, content: bytes) -> None:
    (root / "old.py").write_bytes(content)
    proposal_id = propose(store, root, {"old.py": None}).proposal.id
    accept(store, root, proposal_id)
    assert not (root / "old.py").exists()
    undo(store, root, proposal_id)
    assert (root / "old.py").read_bytes() == content


def test_a_new_file_in_which_somebody_wrote_more_is_not_deleted(root: Path, store: Store) -> None:
    proposal_id = propose(store, root, {"new.py": "x = 1\n"}).proposal.id
    accept(store, root, proposal_id)
    (root / "new.py").write_text("x = 1\nmine = 2\n")
    with pytest.raises(HunkStale, match="There is more in it than was accepted"):
        undo(store, root, proposal_id)
    assert (root / "new.py").read_text() == "x = 1\nmine = 2\n"


def test_what_moved_since_is_told_by_file_and_the_rest_can_be_taken_back(root: Path, store: Store) -> None:
    proposal_id = propose(store, root, {"price.py": BETTER, "old.py": "OLD = False\n"}).proposal.id
    accept(store, root, proposal_id)
    (root / "old.py").write_text("OLD = None\n")
    reviewed = load_proposal(store, proposal_id)
    (plan,) = plan_undo(Workspace(root), [(reviewed, reviewed.accepted)])
    assert [(one.path, one.hunk_ids) for one in plan.left] == [("old.py", ("h3",))]
    assert plan.fitting == ("h1", "h2")
    take_back(store, Workspace(root), reviewed, plan.fitting)
    assert (root / "price.py").read_text() == FILES["price.py"]
    assert (root / "old.py").read_text() == "OLD = None\n"


def test_what_a_hunk_that_stays_needs_stays_with_it(root: Path, store: Store) -> None:
    text = "import math\n\n\n" + FILES["price.py"].replace("sum(items)", "math.fsum(items)")
    reviewed = propose(store, root, {"price.py": text})
    assert reviewed.proposal.hunks()[1][1].needs == ("h1",)
    accept(store, root, reviewed.proposal.id)
    (root / "price.py").write_text(text.replace("math.fsum(items)", "math.fsum(items) + 1"))
    reviewed = load_proposal(store, reviewed.proposal.id)
    (plan,) = plan_undo(Workspace(root), [(reviewed, reviewed.accepted)])
    assert plan.fitting == ()
    assert [one.reason for one in plan.left][-1] == "What stays needs it."


def test_two_proposals_on_one_file_are_planned_one_after_the_other(root: Path, store: Store) -> None:
    first = propose(store, root, {"price.py": BETTER}).proposal.id
    accept(store, root, first)
    second = propose(store, root, {"price.py": BETTER.replace("sum(items) or 0", "sum(items) or 7")}).proposal.id
    accept(store, root, second)
    both = [(reviewed, reviewed.accepted) for reviewed in (load_proposal(store, p) for p in (second, first))]
    assert not [left for plan in plan_undo(Workspace(root), both) for left in plan.left]
    assert [bool(plan.left) for plan in plan_undo(Workspace(root), both[1:])] == [True], "alone, the first has moved"


ENDINGS = st.sampled_from(["\n", "\r\n"])
LINES = st.text(st.sampled_from("ab =\t\f\u0301\u2028𝄞é"), max_size=6).filter(
    lambda line: not line.startswith("\ufeff")
)
ENCODINGS = st.sampled_from([(b"", "utf-8"), (b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le")])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(
    st.lists(st.tuples(LINES, ENDINGS), min_size=1, max_size=12),
    st.lists(st.tuples(LINES, ENDINGS), max_size=12),
    ENCODINGS,
    st.sampled_from(["ends open", "ends closed", "classic Mac"]),
    st.randoms(use_true_random=False),
)
def test_bytes_outside_the_accepted_hunks_stay_and_come_back(
    root: Path,
    store: Store,
    old: list[tuple[str, str]],
    new: list[tuple[str, str]],
    encoding: tuple[bytes, str],
    end: str,
    random: Random,
) -> None:
    mark, name = encoding
    if end == "classic Mac":  # a lone carriage return beside a line feed would be one ending, not two
        old, new = [(line, "\r") for line, _ in old], [(line, "\r") for line, _ in new]
    base = "".join(line + ending for line, ending in old)
    base = base.rstrip("\r\n") if end == "ends open" else base
    proposed = "".join(line + ending for line, ending in (random.choice([*old, *new]) for _ in range(len(old))))
    before = mark + base.encode(name)
    (root / "notes.txt").write_bytes(before)
    reviewed = propose(store, root, {"notes.txt": proposed or "x"})
    chosen = [hunk.id for _, hunk in reviewed.proposal.hunks() if random.random() < 0.5]
    write_accepted(store, Workspace(root), reviewed, chosen)
    after = (root / "notes.txt").read_bytes()
    reviewed = load_proposal(store, reviewed.proposal.id)
    kept = split_lines(base)
    for _, hunk in reversed(reviewed.proposal.hunks()):
        if hunk.id in reviewed.accepted:
            kept[hunk.start : hunk.end] = hunk.new_lines
    assert after == mark + "".join(kept).encode(name)
    if reviewed.accepted:
        take_back(store, Workspace(root), reviewed, reviewed.accepted)
        assert (root / "notes.txt").read_bytes() == before
