"""The index follows the disk and the editor."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from rolecall_analysis import Edit, Index, Position, definitions_in
from support.fixture import parse_fixture


def names_in(index: Index, path: str) -> list[str]:
    return [definition.name for definition in definitions_in(index.snapshot(), path)]


def scanned(root: Path, text: str) -> Index:
    index = Index(parse_fixture(text).write_to(root))
    assert index.scan() == ()
    return index


def test_a_scan_finds_source_and_passes_by_what_tools_made(tmp_path: Path) -> None:
    index = scanned(
        tmp_path,
        """
        #- main.py
        #- typed.pyi
        #- src/shop/price.py
        #- build/__init__.py
        #- app/env.py
        #- README.md
        #- .git/hook.py
        #- .tox/x.py
        #- dist/old.py
        #- node_modules/gyp/gyp.py
        #- pkg/__pycache__/x.py
        #- env/pyvenv.cfg
        #- env/lib/python3/site.py
        #- conda/conda-meta/history
        #- conda/lib/x.py
        """,
    )
    expected = {"main.py", "typed.pyi", "src/shop/price.py", "build/__init__.py", "app/env.py"}
    assert set(index.snapshot().files) == expected


def test_scripts_that_tools_pressed_together_are_passed_by(tmp_path: Path) -> None:
    index = scanned(
        tmp_path,
        """
        #- static/app.js
        function run() {}
        #- static/min.js
        function least() {}
        #- static/jquery.min.js
        function $(){}
        #- static/vendor.min.mjs
        export function v(){}
        #- static/app.bundle.js
        function b(){}
        """,
    )
    assert set(index.snapshot().files) == {"static/app.js", "static/min.js"}
    index.refresh(["static/jquery.min.js"])
    index.open_document("static/app.bundle.js", "function b(){}")
    assert set(index.snapshot().files) == {"static/app.js", "static/min.js"}


@pytest.mark.skipif(not hasattr(os, "symlink"), reason="no symbolic links")
def test_links_are_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.py").write_text("key = 1")
    root = tmp_path / "root"
    (root / "pkg").mkdir(parents=True)
    (root / "pkg" / "a.py").write_text("x = 1")
    (root / "pkg" / "circle").symlink_to(root, target_is_directory=True)
    (root / "out").symlink_to(outside, target_is_directory=True)
    (root / "linked.py").symlink_to(outside / "secret.py")
    index = Index(root)
    index.scan()
    index.refresh(["linked.py", "out/secret.py", "out", "../outside/secret.py", str(outside / "secret.py")])
    assert set(index.snapshot().files) == {"pkg/a.py"}


def test_a_root_that_is_a_link_or_missing_is_no_failure(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a.py").write_text("x = 1")
    (tmp_path / "link").symlink_to(tmp_path / "real", target_is_directory=True)
    index = Index(tmp_path / "link")
    assert index.scan() == ()
    assert names_in(index, "a.py") == ["x"]
    (problem,) = Index(tmp_path / "missing").scan()
    assert "cannot be read" in problem.message


def test_what_cannot_be_read_is_a_problem_and_the_rest_is_there(tmp_path: Path) -> None:
    (tmp_path / "huge.py").write_bytes(b"x = 1\n" * 400_000)
    (tmp_path / "latin.py").write_bytes(b"# coding: latin-1\ndef f(): '\xe9'\n")
    (tmp_path / "liar.py").write_bytes(b"# coding: nonsense\ndef g(): '\xff'\n")
    (tmp_path / "bom.py").write_bytes(b"\xef\xbb\xbfdef h(): ...\n")
    (tmp_path / "fine.py").write_bytes(b"def i(): ...\n")
    index = Index(tmp_path)
    problems = index.scan()
    assert sorted({problem.path for problem in problems}) == ["huge.py", "liar.py"]
    assert [names_in(index, f"{n}.py") for n in ("huge", "latin", "liar", "bom", "fine")] == [
        [], ["f"], ["g"], ["h"], ["i"],
    ]  # fmt: skip
    assert index.snapshot().files["latin.py"].definitions[0].docstring == "é"
    assert index.snapshot().files["bom.py"].definitions[0].span.start == Position(0, 0)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
def test_a_named_pipe_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    index = Index(tmp_path)
    assert index.scan() == ()
    index.refresh(["pipe.py"])
    assert index.snapshot().files == {}


def test_a_name_that_is_no_text_is_left_out(tmp_path: Path) -> None:
    try:
        (tmp_path / os.fsdecode(b"\xff.py")).write_text("x = 1")
    except OSError:
        pytest.skip("this file system only takes text")
    (problem,) = Index(tmp_path).scan()
    problem.path.encode()


def test_an_open_document_wins_over_the_disk_until_it_is_closed(tmp_path: Path) -> None:
    index = scanned(tmp_path, "#- a.py\ndef disk(): ...\n")
    index.open_document("a.py", "def editor(): ...\n")
    assert names_in(index, "a.py") == ["editor"]
    (tmp_path / "a.py").write_text("def saved(): ...\n")
    index.refresh(["a.py"])
    index.scan()
    assert names_in(index, "a.py") == ["editor"]
    index.close_document("a.py")
    assert names_in(index, "a.py") == ["saved"]


def test_a_document_that_was_never_saved_goes_when_it_is_closed(tmp_path: Path) -> None:
    index = Index(tmp_path)
    index.open_document("new.py", "def f(): ...")
    index.scan()
    assert names_in(index, "new.py") == ["f"]
    index.close_document("new.py")
    assert index.snapshot().files == {}


def test_edits_apply_one_after_the_other_in_code_points(tmp_path: Path) -> None:
    index = Index(tmp_path)
    index.open_document("a.py", "s = '😀'; x = 1\r\n")
    index.edit_document(
        "a.py",
        [
            Edit(Position(0, 9), Position(0, 10), "total"),
            Edit(Position(0, 18), Position(0, 99), "\r\ndef f():\r\n    return total"),
            Edit(Position(2, 99), Position(99, 0), "()\r\n"),
        ],
    )
    facts = index.snapshot().files["a.py"]
    assert [definition.name for definition in facts.definitions] == ["s", "total", "f"]
    assert [(call.callee, call.span.start) for call in facts.calls] == [("total", Position(2, 11))]


def test_a_change_can_be_the_whole_text(tmp_path: Path) -> None:
    index = Index(tmp_path)
    index.open_document("a.py", "def f(): ...")
    index.edit_document("a.py", "def g(): ...")
    assert names_in(index, "a.py") == ["g"]


def test_functions_with_the_same_text_stay_apart_when_lines_above_them_change(tmp_path: Path) -> None:
    index = Index(tmp_path)
    text = "def f(n):\n    return g(n) + [a.b for a in n]\n" * 3
    index.open_document("a.py", text)
    for _ in range(3):
        index.edit_document("a.py", text := f"import os\n{text}")
    afresh = Index(tmp_path)
    afresh.open_document("a.py", text)
    edited, expected = index.snapshot().files["a.py"], afresh.snapshot().files["a.py"]
    assert [call.span.start.line for call in edited.calls] == [4, 6, 8]
    assert (edited.definitions, edited.calls, edited.references) == (
        expected.definitions,
        expected.calls,
        expected.references,
    )


def test_only_open_documents_can_be_edited(tmp_path: Path) -> None:
    with pytest.raises(KeyError):
        Index(tmp_path).edit_document("a.py", "x = 1")


def test_documents_of_other_languages_are_ignored(tmp_path: Path) -> None:
    index = Index(tmp_path)
    index.open_document("a.md", "# def")
    index.edit_document("a.md", "# class")
    index.close_document("a.md")
    assert index.snapshot().files == {}


def test_a_refresh_follows_what_happened_on_disk(tmp_path: Path) -> None:
    index = scanned(
        tmp_path,
        """
        #- changed.py
        old = 1
        #- deleted.py
        #- moved/a.py
        #- moved/deep/b.py
        #- .venv/c.py
        """,
    )
    (tmp_path / "changed.py").write_text("new = 1")
    (tmp_path / "deleted.py").unlink()
    (tmp_path / "created.py").write_text("x = 1")
    (tmp_path / "moved").rename(tmp_path / "target")
    index.refresh(["changed.py", "deleted.py", "created.py", "moved", "target", ".venv", ".venv/c.py", "none.py"])
    assert set(index.snapshot().files) == {"changed.py", "created.py", "target/a.py", "target/deep/b.py"}
    assert names_in(index, "changed.py") == ["new"]


def test_a_second_scan_forgets_what_is_gone(tmp_path: Path) -> None:
    index = scanned(tmp_path, "#- a.py\n#- b.py\n")
    (tmp_path / "a.py").unlink()
    index.scan()
    assert set(index.snapshot().files) == {"b.py"}


def test_a_snapshot_never_changes(tmp_path: Path) -> None:
    index = scanned(tmp_path, "#- a.py\nx = 1\n")
    before = index.snapshot()
    index.open_document("a.py", "y = 1")
    index.open_document("b.py", "z = 1")
    assert [d.name for d in definitions_in(before, "a.py")] == ["x"]
    assert set(before.files) == {"a.py"}
    with pytest.raises(TypeError):
        before.files["c.py"] = before.files["a.py"]  # pyright: ignore


def test_a_scan_beside_edits_never_undoes_them(tmp_path: Path) -> None:
    n_files = 60
    for number in range(n_files):
        (tmp_path / f"m{number}.py").write_text(f"disk{number} = 1\n" * 20)
    index = Index(tmp_path)
    worker = threading.Thread(target=lambda: [index.scan() for _ in range(3)])
    worker.start()
    for number in range(n_files):
        index.open_document(f"m{number}.py", "x = 1")
        index.edit_document(f"m{number}.py", [Edit(Position(0, 0), Position(0, 1), f"edited{number}")])
        if number % 2:
            (tmp_path / f"m{number}.py").write_text(f"saved{number} = 1")
            index.close_document(f"m{number}.py")
    worker.join()
    expected = [f"{'saved' if number % 2 else 'edited'}{number}" for number in range(n_files)]
    assert [names_in(index, f"m{number}.py") for number in range(n_files)] == [[name] for name in expected]
