"""What `tests/conftest.py` promises: nothing is left out silently, and on the CI machine nothing at all."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = Path(__file__).parents[1] / "conftest.py"
SOME_LEFT_OUT = """
import pytest

@pytest.mark.skipif(True, reason="no browser here")
def test_in_a_browser(): ...

def test_with_a_tool():
    pytest.skip("no tool here")

def test_that_runs(): ...
"""


def run_pytest(folder: Path, text: str, *options: str, **environ: str) -> subprocess.CompletedProcess[str]:
    (folder / "conftest.py").write_text(CONFTEST.read_text(encoding="utf-8"), encoding="utf-8")
    (folder / "test_it.py").write_text(text, encoding="utf-8")
    inherited = {name: value for name, value in os.environ.items() if name not in ("CI", "PYTEST_ADDOPTS")}
    return subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-c",
            os.devnull,
            "--rootdir",
            str(folder),
            "-p",
            "no:cacheprovider",
            *options,
        ],
        cwd=folder,
        env={**inherited, "PYTHONPATH": str(CONFTEST.parent), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **environ},
        capture_output=True,
        text=True,
        check=False,
    )


def test_what_is_left_out_is_named_with_its_reason(tmp_path: Path) -> None:
    run = run_pytest(tmp_path, SOME_LEFT_OUT)
    assert run.returncode == 0, run.stdout
    assert "no browser here: 1 (such as test_it.py::test_in_a_browser)" in run.stdout
    assert "no tool here: 1 (such as test_it.py::test_with_a_tool)" in run.stdout


def test_with_ci_anything_left_out_fails_the_run(tmp_path: Path) -> None:
    run = run_pytest(tmp_path, SOME_LEFT_OUT, CI="true")
    assert run.returncode == 1, run.stdout
    assert "With CI=true nothing may be left out: the run fails." in run.stdout


def test_on_all_cores_it_is_the_same(tmp_path: Path) -> None:
    run = run_pytest(tmp_path, SOME_LEFT_OUT, "-p", "xdist", "-n", "2", CI="true")
    assert run.returncode == 1, run.stdout
    assert "no tool here: 1 (such as test_it.py::test_with_a_tool)" in run.stdout


@pytest.mark.parametrize("environ", [{}, {"CI": "true"}])
def test_nothing_is_said_when_all_ran(tmp_path: Path, environ: dict[str, str]) -> None:
    run = run_pytest(tmp_path, "def test_that_runs(): ...\n", **environ)
    assert run.returncode == 0, run.stdout
    assert "left out" not in run.stdout


def test_a_whole_module_that_is_left_out_counts(tmp_path: Path) -> None:
    text = 'import pytest\n\npytest.skip("not on this system", allow_module_level=True)\n'
    run = run_pytest(tmp_path, text + "def test_it(): ...\n", CI="true")
    assert run.returncode != 0, run.stdout
    assert "not on this system" in run.stdout


def test_what_only_the_long_run_has_is_there() -> None:
    named = runpy.run_path(str(CONFTEST))["AT_LENGTH"]
    assert named
    for name in named:
        path, _, test = name.partition("::")
        assert (CONFTEST.parents[1] / path).exists(), name
        assert not test or f"def {test}(" in (CONFTEST.parents[1] / path).read_text(encoding="utf-8"), name


def test_a_run_reads_no_file_of_which_it_wants_no_test(tmp_path: Path) -> None:
    at_length = tmp_path / "tests/server/sandbox/test_long.py"
    at_length.parent.mkdir(parents=True)
    at_length.write_text('raise SystemExit("it is read")')
    assert "1 passed" in run_pytest(tmp_path, "def test_quick(): ...", "-m", "not at_length").stdout
    at_length.write_text("def test_alone(): ...")
    assert "1 passed" in run_pytest(tmp_path, 'raise SystemExit("it is read")', "-m", "at_length").stdout
    assert "2 passed" in run_pytest(tmp_path, "def test_quick(): ...").stdout
