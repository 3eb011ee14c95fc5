"""The things that everybody is told of a repository: how it is run, what it holds, where changes are told."""

from __future__ import annotations

from pathlib import Path

import pytest

from rolecall_analysis import Index
from rolecall_server.context import ContextItem, Focus, PackSource, pack
from rolecall_server.model import estimate_tokens
from rolecall_server.workspace import Workspace
from support.workspaces import write_workspace

SETTINGS = """\
[project]
requires-python = ">=3.10"
dependencies = ["attrs>=22", "idna"]

[tool.pytest.ini_options]
testpaths = ["tests"]
filterwarnings = ["error"]

[tool.ruff]
line-length = 88

[tool.mypy]
strict = true
"""
AMPLE = 16_000


def told(root: Path, files: dict[str, str], focus: Focus) -> dict[str, ContextItem]:
    """What is shown of the repository of *files*, by its reason."""
    folder = write_workspace(root, files)
    index = Index(folder)
    index.scan()
    view = PackSource(Workspace(folder), index.snapshot(), estimate_tokens)
    return {item.reason: item for item in pack(view, focus, AMPLE).items}


def brief(text: str, *, writes_code: bool = True) -> Focus:
    return Focus("", brief=text, writes_code=writes_code)


def test_how_it_is_run_takes_three_lines_with_the_settings_that_decide_about_tests(tmp_path: Path) -> None:
    shown = told(tmp_path / "work", {"pyproject.toml": SETTINGS, "a.py": "A = 1\n"}, Focus("a.py"))
    assert shown["How this repository is run"].text == (
        "Python >=3.10; needs attrs>=22, idna\n"
        "Tests: python -m pytest; filterwarnings = ['error']; testpaths = ['tests']\n"
        "Lines of at most 88; checked by ruff, mypy\n"
    )


CLASSIFIED = "Programming Language :: Python :: "


@pytest.mark.parametrize(
    ("name", "text", "told_of"),
    [
        (
            "pyproject.toml",
            f'[project]\nrequires-python = ">=3.9"\nclassifiers = ["{CLASSIFIED}3.13", "{CLASSIFIED}3.9"]\n',
            "Python >=3.9, declared for 3.9 to 3.13\n",
        ),
        ("pyproject.toml", '[tool.poetry.dependencies]\npython = "^3.10"\n', "Python ^3.10\n"),
        (
            "setup.py",
            f"setup(python_requires='>=3.8', classifiers=['{CLASSIFIED}3.8'])\n",
            "Python >=3.8, declared for 3.8\n",
        ),
        (
            "setup.cfg",
            f"[metadata]\nclassifiers =\n    {CLASSIFIED}3.7\n    {CLASSIFIED}3.8\n",
            "Python declared for 3.7 to 3.8\n",
        ),
        ("setup.cfg", "[options]\npython_requires = >=3.7\n", "Python >=3.7\n"),
    ],
)
def test_the_supported_versions_of_python_are_told_wherever_they_are_declared(
    tmp_path: Path, name: str, text: str, told_of: str
) -> None:
    shown = told(tmp_path / "work", {name: text, "a.py": "A = 1\n"}, Focus("a.py"))
    assert shown["How this repository is run"].text == told_of


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pytest.ini", "[pytest]\naddopts = -W error\n"),
        ("tox.ini", "[pytest]\naddopts = -W error\n"),
        ("setup.cfg", "[tool:pytest]\naddopts = -W error\n"),
    ],
)
def test_settings_of_pytest_are_read_wherever_pytest_reads_them(tmp_path: Path, name: str, text: str) -> None:
    shown = told(tmp_path / "work", {name: text, "a.py": "A = 1\n"}, Focus("a.py"))
    assert shown["How this repository is run"].text == "Tests: python -m pytest; addopts = -W error\n"


@pytest.mark.parametrize("text", ["[project", "tool = 3\n", "[tool]\npytest = 1\nruff = 2\n", "[project]\nname = 1\n"])
def test_settings_that_cannot_be_read_say_nothing(tmp_path: Path, text: str) -> None:
    shown = told(tmp_path / "work", {"pyproject.toml": text, "a.py": "A = 1\n"}, Focus("a.py"))
    assert {*shown} <= {"the file to work on", "How this repository is run"}


def test_who_writes_code_sees_the_head_of_the_changelog(tmp_path: Path) -> None:
    changes = "".join(f"- change {n} of a repository that writes down each of them\n" for n in range(90))
    files = {"docs/CHANGES.rst": f"1.2\n===\n{changes}", "a.py": "def refund(): pass\n"}
    shown = told(tmp_path / "work", files, brief("refund"))["the head of the changelog"]
    assert shown.path == "docs/CHANGES.rst"
    assert shown.text.startswith("1.2\n===\n- change 0 of")
    assert shown.tokens <= 300
    assert "the head of the changelog" not in told(tmp_path / "work", {}, brief("refund", writes_code=False))


@pytest.mark.parametrize(
    ("title", "older"),
    [
        ("## [Unreleased]\n\n### Fixed", "## [1.2.0] - 2026-01-01"),
        ("Version 1.3\n-----------", "Version 1.2\n-----------"),
    ],
)
def test_where_its_newest_version_is_long_its_last_entries_are_shown_too(
    tmp_path: Path, title: str, older: str
) -> None:
    entries = "\n".join(f"- Entry {n} tells in some words what was changed for whoever uses it." for n in range(40))
    files = {"CHANGES.md": f"# Changes\n\n{title}\n\n{entries}\n\n{older}\n\n- Older.\n"}
    shown = told(tmp_path / "work", files, brief("refund"))
    last = shown["the last entries of its newest version"].text
    assert last.splitlines()[-1].startswith("- Entry 39 ")
    assert "Entry 39" not in shown["the head of the changelog"].text


def test_a_short_newest_version_is_shown_once(tmp_path: Path) -> None:
    files = {"CHANGES.md": "# Changes\n\n## 1.3\n\n- One.\n\n## 1.2\n\n- Older.\n"}
    assert "the last entries of its newest version" not in told(tmp_path / "work", files, brief("refund"))


def test_a_changelog_that_is_kept_from_models_is_not_shown(tmp_path: Path) -> None:
    files = {"CHANGES.md": "secret\n", ".aiignore": "CHANGES.md\n", "a.py": "def refund(): pass\n"}
    assert "the head of the changelog" not in told(tmp_path / "work", files, brief("refund"))


def test_the_map_names_the_files_that_are_not_shown_with_what_they_define(tmp_path: Path) -> None:
    many = "".join(f"def f{n}(): pass\n" for n in range(9))
    files = {
        "a.py": "def refund(): pass\n",
        "b.py": f"def _own(): pass\n{many}",
        "tests/test_b.py": "",
        ".aiignore": "c*\n",
    }
    shown = told(tmp_path / "work", {**files, "c.py": "KEY = 1\n"}, brief("refund", writes_code=False))
    assert (
        shown["The other files of the repository"].text
        == "b.py: f0, f1, f2, f3, f4, f5 and 4 more\ntests/: test_b.py\n"
    )


def test_the_map_of_a_large_repository_takes_a_small_share_and_says_how_much_it_leaves_out(tmp_path: Path) -> None:
    files = {f"package/module_{n:04}.py": f"def function_{n}(): pass\n" for n in range(600)}
    shown = told(tmp_path / "work", files, brief("refund"))["The other files of the repository"]
    assert shown.tokens <= AMPLE * 0.06
    n_named = shown.text.count(": function_")
    assert shown.text.endswith(f"… and {600 - n_named} other files\n")


def test_the_map_names_the_tests_whatever_it_leaves_out_and_examples_last(tmp_path: Path) -> None:
    files = {f"package/module_{n:04}.py": f"def function_{n}(): pass\n" for n in range(20)}
    tests = {f"tests/unit/test_{n:03}.py": "" for n in range(400)}
    others = {"examples/app.py": "def run(): pass\n", "tests/test_all.py": ""}
    shown = told(tmp_path / "work", {**files, **tests, **others}, brief("refund"))["The other files of the repository"]
    *code, example, above, unit, left_out = shown.text.splitlines()
    assert all(line.startswith("package/") for line in code)
    assert (example, above) == ("examples/app.py: run", "tests/: test_all.py")
    assert unit.startswith("tests/unit/: test_000.py, test_001.py, ")
    assert left_out == f"… and {400 - unit.count('.py')} other files of tests"


def test_an_empty_repository_is_said_to_be_empty(tmp_path: Path) -> None:
    shown = told(tmp_path / "work", {}, brief("Build a shop"))
    assert [item.text for item in shown.values()] == ["There is no code in it yet; it holds no file.\n"]
