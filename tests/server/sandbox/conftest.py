"""Small workspaces written from strings, and small environments that hold as much as a test wants."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from rolecall_server.sandbox import (
    Confinement,
    Interpreter,
    Shadow,
    Suite,
    TestRun,
    Unconfined,
    run_tests,
    shadow_workspace,
)
from rolecall_server.sandbox.walls.bubblewrap import Bubblewrap, usual_limits
from rolecall_server.workspace import Workspace
from support.fixture import parse_fixture
from support.patience import PATIENCE_S
from support.workspaces import install

PYTEST = ("pytest", "pluggy", "iniconfig", "packaging", "pygments")
"""The distributions that pytest needs of an environment."""


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for temporary files of this test's own, so that it can see that nothing is left there."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The folder that `workspace_of` opens."""
    folder = (tmp_path / "project").resolve()
    folder.mkdir()
    return folder


@pytest.fixture
def workspace_of(root: Path) -> Callable[..., Workspace]:
    """Writes the files of a text and opens their folder, with *buffers* unsaved."""

    def write(text: str, buffers: Mapping[str, str] | None = None) -> Workspace:
        parse_fixture(text).write_to(root)
        return Workspace(root, dict(buffers or {}))

    return write


@pytest.fixture(scope="session")
def make_environment() -> Callable[..., Path]:
    """Makes a virtual environment with what we have installed, and says where its packages lie."""

    def make(folder: Path, *, with_pytest: bool = True, with_coverage: bool = False) -> Path:
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
        (site,) = folder.glob("lib/python*/site-packages")
        for name in (*(PYTEST if with_pytest else ()), *(("coverage",) if with_coverage else ())):
            install(name, site)
        return site

    return make


@pytest.fixture(scope="session")
def python(make_environment: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Interpreter:
    """An interpreter that has pytest and coverage."""
    folder = tmp_path_factory.mktemp("environment") / "usual"
    make_environment(folder, with_coverage=True)
    return Interpreter(folder / "bin" / "python", "test")


@pytest.fixture(scope="session")
def lean(make_environment: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Interpreter:
    """An interpreter that has pytest and no coverage."""
    folder = tmp_path_factory.mktemp("environment") / "alone"
    make_environment(folder)
    return Interpreter(folder / "bin" / "python", "test")


def walls(*, overlays: bool) -> Bubblewrap:
    """bubblewrap as Debian installs it; a machine without it fails the test that starts it."""
    return Bubblewrap(Path("/usr/bin/bwrap"), overlays, usual_limits())


RUNGS = {"overlay": walls(overlays=True), "copy": walls(overlays=False), "no walls": Unconfined()}
"""Every way in which tests are run."""


@pytest.fixture(params=RUNGS)
def confinement(request: pytest.FixtureRequest) -> Confinement:
    """Each way in which tests are run, one after the other."""
    return RUNGS[request.param]


@pytest.fixture
def run_in_shadow(python: Interpreter, confinement: Confinement) -> Callable[..., object]:
    """Runs the tests of a workspace in a shadow of it."""

    async def run(
        workspace: Workspace,
        targets: Sequence[str] = (),
        measure: Sequence[str] = (),
        *,
        interpreter: Interpreter = python,
        proposal: Mapping[str, str | None] | None = None,
        timeout_s: float = PATIENCE_S,
        confinement: Confinement = confinement,
        suite: Suite | None = None,
        trace_s: float = 0.0,
    ) -> TestRun:
        async with shadow_workspace(workspace, confinement) as shadow:
            assert isinstance(shadow, Shadow)
            shadow.write(proposal or {})
            return await run_tests(
                shadow, interpreter, targets, measure, timeout_s=timeout_s, suite=suite, trace_s=trace_s
            )

    return run
