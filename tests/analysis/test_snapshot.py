"""A snapshot never changes, decodes what is asked for, and can be asked what if."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rolecall_analysis import Index, Snapshot
from rolecall_analysis.facts.records import Decoded, Files, Record
from support.fixture import parse_fixture

SHOP = """
#- shop/price.py
def total(items): return sum(items)
#- shop/cart.py
from shop.price import total
def checkout(cart): return total(cart.lines)
#- notes.md
total
"""


def scanned(root: Path, text: str = SHOP) -> Index:
    index = Index(parse_fixture(text).write_to(root))
    index.scan()
    return index


def test_the_files_that_mention_a_name_are_found(tmp_path: Path) -> None:
    snapshot = scanned(tmp_path).snapshot()
    assert sorted(snapshot.mentioning("total")) == ["shop/cart.py", "shop/price.py"]
    assert list(snapshot.mentioning("lines")) == ["shop/cart.py"]
    assert list(snapshot.mentioning("tot")) == []


def test_mentions_follow_the_editor_the_disk_and_what_if(tmp_path: Path) -> None:
    index = scanned(tmp_path)
    before = index.snapshot()
    index.open_document("shop/cart.py", "def empty(): ...\n")
    assert list(index.snapshot().mentioning("total")) == ["shop/price.py"]
    assert list(index.snapshot().mentioning("empty")) == ["shop/cart.py"]
    index.close_document("shop/cart.py")
    (tmp_path / "shop/price.py").write_text("def price(): ...\n")
    index.refresh(["shop/price.py"])
    assert list(index.snapshot().mentioning("total")) == ["shop/cart.py"]
    what_if = index.snapshot().with_changes({"shop/cart.py": None, "new.py": "total = 1"})
    assert list(what_if.mentioning("total")) == ["new.py"]
    assert sorted(before.mentioning("total")) == ["shop/cart.py", "shop/price.py"]


def test_the_index_of_mentions_does_not_grow_with_every_change(tmp_path: Path) -> None:
    index = scanned(tmp_path)
    for number in range(300):
        (tmp_path / "shop/cart.py").write_text(f"def checkout{number}(): ...\n")
        index.refresh(["shop/cart.py"])
    snapshot = index.snapshot()
    assert list(snapshot.mentioning("checkout299")) == ["shop/cart.py"]
    assert list(snapshot.mentioning("checkout298")) == []
    assert list(snapshot.mentioning("total")) == ["shop/price.py"]
    assert len(index._mentions) < 150


def test_text_is_the_editors_else_the_disks(tmp_path: Path) -> None:
    index = scanned(tmp_path)
    assert index.snapshot().text("shop/price.py") == "def total(items): return sum(items)\n"
    index.open_document("shop/price.py", "unsaved = 1")
    assert index.snapshot().text("shop/price.py") == "unsaved = 1"
    assert index.snapshot().with_changes({"shop/price.py": "what = if_"}).text("shop/price.py") == "what = if_"
    assert index.snapshot().with_changes({"shop/price.py": None}).text("shop/price.py") is None
    index.close_document("shop/price.py")
    assert index.snapshot().text("shop/price.py") == "def total(items): return sum(items)\n"
    assert index.snapshot().text("shop/missing.py") is None
    (tmp_path / "shop/price.py").unlink()
    assert index.snapshot().text("shop/price.py") is None


def test_what_is_derived_is_computed_once_for_each_snapshot() -> None:
    snapshot = Snapshot().with_changes({"a.py": "x = 1"})
    computed: list[Snapshot] = []

    def count(now: Snapshot) -> int:
        computed.append(now)
        return len(now.files)

    assert [snapshot.derived("count", count) for _ in range(3)] == [1, 1, 1]
    edited = snapshot.with_changes({"a.py": "y = 1"})
    assert edited.derived("count", count) == 1
    assert computed == [snapshot, edited]


def test_what_is_derived_from_paths_outlives_a_change_of_contents_but_not_of_paths() -> None:
    snapshot = Snapshot().with_changes({"a.py": "x = 1"})
    modules = snapshot.modules
    assert snapshot.with_changes({"a.py": "y = 1"}).modules is modules
    assert set(snapshot.with_changes({"b.py": "y = 1"}).modules.files) == {"a", "b"}
    assert set(snapshot.with_changes({"a.py": None}).modules.files) == set()
    assert snapshot.modules is modules


def test_only_python_files_are_modules() -> None:
    snapshot = Snapshot().with_changes({"a.py": "x = 1"})
    assert set(snapshot.modules.files) == {"a"}


@settings(max_examples=100, deadline=None)
@given(st.lists(st.dictionaries(st.sampled_from("abcdefgh"), st.none() | st.integers(0, 3), max_size=6), max_size=8))
def test_files_with_changes_are_those_of_a_dictionary(changes: list[dict[str, int | None]]) -> None:
    packed = [scan_of(number) for number in range(4)]
    files, expected = Files(Decoded()), dict[str, int]()
    history: list[tuple[Files, dict[str, int]]] = []
    for change in changes:
        files = files.with_records({path: None if n is None else Record(packed[n]) for path, n in change.items()})
        expected = {**expected, **{path: n for path, n in change.items() if n is not None}}
        expected = {path: n for path, n in expected.items() if change.get(path, n) is not None}
        history.append((files, expected))
    for one, paths in history:
        assert len(one) == len(paths)
        assert set(one) == paths.keys()
        assert len(list(one)) == len(paths)
        assert {path: facts.definitions[0].name for path, facts in one.items()} == {
            p: f"f{n}" for p, n in paths.items()
        }


def scan_of(number: int) -> bytes:
    from rolecall_analysis import facts_of
    from rolecall_analysis.facts.packed import pack

    return pack(facts_of("a.py", f"def f{number}(): ..."))


def test_many_changes_keep_all_files_and_a_few_decoded() -> None:
    packed = scan_of(1)
    files = Files(Decoded(limit_bytes=10 * len(packed)))
    for start in range(0, 3000, 10):
        files = files.with_records({f"m{n}.py": Record(packed) for n in range(start, start + 10)})
    assert len(files) == len(set(files)) == 3000
    files = files.with_records({f"m{n}.py": None for n in range(0, 3000, 2)})
    assert len(files) == len(list(files)) == 1500
    assert "m0.py" not in files
    assert files["m1.py"].definitions[0].name == "f1"
    assert files["m1.py"] is files["m1.py"]
    with pytest.raises(KeyError):
        files["m0.py"]


def test_what_follows_from_changes_is_worked_out_once_for_the_same_changes() -> None:
    snapshot, asked = Snapshot(), list[object]()
    for text in ("a = 1", "a = 2", "a = 1"):
        snapshot.with_changes({"new.py": text, "notes.md": "is no source"}).derived("asked", asked.append)
    assert len(asked) == 2
    assert "new.py" not in snapshot.files


def test_an_answer_is_remembered_until_many_others_were_asked_for() -> None:
    snapshot, asked = Snapshot(), list[int]()
    for question in [0, 0, *range(1000), 0]:
        assert (
            snapshot.answered(question, lambda _, question=question: asked.append(question) or -question) == -question
        )
    assert asked == [*range(1000), 0]
