"""Which Python runs the tests: the developer's choice first, and never a program a workspace slips in."""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from rolecall_server.sandbox import (
    Capabilities,
    Confinement,
    Interpreter,
    NotRun,
    Shadow,
    find_interpreter,
    probe,
    shadow_workspace,
)
from rolecall_server.sandbox.python import environments
from rolecall_server.workspace import Workspace
from support.pipes import pipe_at

SETTING = "rolecall.tests.interpreter"

Ask = Callable[[Interpreter], Awaitable[Capabilities | NotRun]]


@pytest.fixture
def ask(root: Path, confinement: Confinement) -> Ask:
    """Asks an interpreter what it has, as a run of the tests of the workspace at `root` does."""

    async def asked(interpreter: Interpreter) -> Capabilities | NotRun:
        async with shadow_workspace(Workspace(root), confinement) as shadow:
            assert isinstance(shadow, Shadow)
            return await probe(shadow, interpreter)

    return asked


def program(location: Path, text: str = "#!/bin/sh\nexit 1\n") -> Path:
    location.parent.mkdir(parents=True, exist_ok=True)
    location.write_text(text)
    location.chmod(0o755)
    return location


def test_the_setting_wins(root: Path, tmp_path: Path) -> None:
    program(root / ".venv" / "bin" / "python")
    chosen = program(tmp_path / "chosen" / "python")
    assert find_interpreter(root, str(chosen), {}) == Interpreter(chosen, SETTING)


def test_the_setting_may_be_a_folder_relative_to_the_workspace(root: Path) -> None:
    python = program(root / "environments" / "test" / "bin" / "python")
    assert find_interpreter(root, "environments/test", {}) == Interpreter(python, SETTING)


def test_the_setting_may_be_a_name_on_the_path(root: Path, tmp_path: Path) -> None:
    python = program(tmp_path / "bin" / "python3.12")
    assert find_interpreter(root, "python3.12", {"PATH": str(tmp_path / "bin")}) == Interpreter(python, SETTING)


def test_a_setting_that_names_nothing_is_said_and_not_passed_over(root: Path) -> None:
    program(root / ".venv" / "bin" / "python")
    missing = find_interpreter(root, "/nowhere/python", {})
    assert isinstance(missing, NotRun)
    assert "/nowhere/python" in missing.reason
    assert SETTING in missing.next_step


@pytest.mark.parametrize("name", [".venv", "venv", ".conda"])
def test_the_workspaces_environment_comes_before_the_active_one(root: Path, tmp_path: Path, name: str) -> None:
    python = program(root / name / "bin" / "python")
    active = program(tmp_path / "active" / "bin" / "python").parent.parent
    assert find_interpreter(root, "", {"VIRTUAL_ENV": str(active)}) == Interpreter(python, name)


def test_an_environment_whose_python_is_gone_is_said_and_not_passed_over(root: Path) -> None:
    (root / ".venv" / "bin").mkdir(parents=True)
    (root / ".venv" / "bin" / "python").symlink_to("/nowhere/python")
    broken = find_interpreter(root, "", dict(os.environ))
    assert isinstance(broken, NotRun)
    assert ".venv" in broken.reason


def test_the_active_environment_comes_before_the_path(root: Path, tmp_path: Path) -> None:
    python = program(tmp_path / "active" / "bin" / "python")
    on_path = program(tmp_path / "bin" / "python3")
    environ = {"VIRTUAL_ENV": str(tmp_path / "active"), "PATH": str(on_path.parent)}
    assert find_interpreter(root, "", environ) == Interpreter(python, "VIRTUAL_ENV")


@pytest.mark.parametrize("named", ["made/by-uv", "/absolute"])
def test_the_environment_that_uv_is_told_to_use_is_found(root: Path, tmp_path: Path, named: str) -> None:
    named = named.replace("/absolute", str(tmp_path / "elsewhere"))
    python = program(root / named / "bin" / "python")
    environ = {"UV_PROJECT_ENVIRONMENT": named, "VIRTUAL_ENV": str(tmp_path)}
    assert find_interpreter(root, "", environ) == Interpreter(python, "UV_PROJECT_ENVIRONMENT")


@pytest.mark.parametrize(
    ("minor", "expected"), [("3.9", "py3.9"), ("", "py3.13")], ids=["the one in use", "the newest where none is"]
)
def test_the_environment_that_poetry_keeps_for_the_folder_is_found(tmp_path: Path, minor: str, expected: str) -> None:
    root = Path("/shop")  # where poetry 2 gave an environment this name
    kept = tmp_path / ".cache" / "pypoetry" / "virtualenvs"
    base = "corner-shop-JjFc4ek1"
    for version in ("py3.9", "py3.13"):
        program(kept / f"{base}-{version}" / "bin" / "python")
    program(kept / "corner-shop-AAAAAAAA-py3.14" / "bin" / "python")
    (kept / "envs.toml").write_text(f'[{base}]\nminor = "{minor}"\npatch = "3.9.18"\n')
    files = {"pyproject.toml": '[project]\nname = "Corner-Shop"\n[tool.poetry]\npackages = []\n'}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(environments, "_read", lambda path: files.get(path.name, "") or read(path))
        found = list(environments._of_poetry(root, {"HOME": str(tmp_path)}))
    assert found[0].name == f"{base}-{expected}"
    assert len(found) == 2


def read(path: Path) -> str:
    return path.read_text() if path.exists() else ""


ODD = {
    "pyproject.toml": ["tool = 3", "project = []", "tool = " + "[" * 100_000, "x = " + "9" * 5_000],
    "environment.yml": ["name: ..", "name: ../other", "name: /etc"],
    ".python-version": ["..", "../.."],
}


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in ODD.items() for text in texts])
def test_a_file_that_names_no_environment_brings_none(root: Path, tmp_path: Path, name: str, text: str) -> None:
    home = tmp_path / "home"
    program(home / ".pyenv" / "bin" / "python")
    program(home / "other" / "bin" / "python")
    (home / "envs" / "shop").mkdir(parents=True)
    (home / ".conda").mkdir()
    (home / ".conda" / "environments.txt").write_text(str(home / "envs" / "shop"))
    (root / "poetry.lock").touch()
    (root / name).write_text(text)
    found = list(environments.environments_of(root, {"HOME": str(home), "VIRTUAL_ENV": "", "CONDA_PREFIX": ""}))
    assert [folder for folder, _ in found if folder.is_absolute()] == []


@pytest.mark.parametrize("name", ["pyproject.toml", "environment.yml", ".python-version"])
def test_a_pipe_in_place_of_such_a_file_is_not_read(root: Path, tmp_path: Path, name: str) -> None:
    (root / "poetry.lock").touch()
    with pipe_at(root / name) as was_opened:
        list(environments.environments_of(root, {"HOME": str(tmp_path)}))
        assert not was_opened.is_set()


def test_the_environment_that_the_workspaces_file_names_is_found_among_condas(root: Path, tmp_path: Path) -> None:
    python = program(tmp_path / "conda" / "envs" / "shop" / "bin" / "python")
    program(tmp_path / "conda" / "envs" / "other" / "bin" / "python")
    (root / "environment.yml").write_text("name: shop  # ours\ndependencies:\n  - python\n")
    (tmp_path / ".conda").mkdir()
    known = [tmp_path / "conda", tmp_path / "conda" / "envs" / "other", tmp_path / "conda" / "envs" / "shop"]
    (tmp_path / ".conda" / "environments.txt").write_text("\n".join(map(str, known)))
    environ = {"HOME": str(tmp_path), "CONDA_PREFIX": str(tmp_path / "conda" / "envs" / "other")}
    assert find_interpreter(root, "", environ) == Interpreter(python, "environment.yml")


def test_condas_active_environment_comes_before_the_path(root: Path, tmp_path: Path) -> None:
    python = program(tmp_path / "conda" / "bin" / "python")
    environ = {"CONDA_PREFIX": str(tmp_path / "conda"), "PATH": "/usr/bin"}
    assert find_interpreter(root, "", environ) == Interpreter(python, "CONDA_PREFIX")


@pytest.mark.parametrize(("named", "expected"), [("3.12.1", "3.12.1"), ("3.12", "3.12.10"), ("shop\n3.12", "shop")])
def test_the_version_that_pyenv_is_told_to_use_is_found(root: Path, tmp_path: Path, named: str, expected: str) -> None:
    for version in ("3.12.1", "3.12.9", "3.12.10", "3.13.0", "shop"):
        program(tmp_path / "versions" / version / "bin" / "python")
    (root.parent / ".python-version").write_text(f"{named}\n")
    found = find_interpreter(root, "", {"PYENV_ROOT": str(tmp_path), "PATH": "/usr/bin"})
    assert found == Interpreter(tmp_path / "versions" / expected / "bin" / "python", ".python-version")


def test_a_version_that_pyenv_does_not_have_is_passed_over(root: Path, tmp_path: Path) -> None:
    python = program(tmp_path / "bin" / "python3")
    (root / ".python-version").write_text("2.6\n")
    found = find_interpreter(root, "", {"PYENV_ROOT": str(tmp_path), "PATH": str(python.parent)})
    assert found == Interpreter(python, "PATH")


def test_python3_is_found_on_the_path(root: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    python = program(tmp_path / "bin" / "python3")
    environ = {"PATH": f"{tmp_path / 'empty'}:{python.parent}", "VIRTUAL_ENV": "relative"}
    assert find_interpreter(root, "", environ) == Interpreter(python, "PATH")


@pytest.mark.parametrize("entry", ["", ".", "bin", "{root}/bin", "{root}/../project/bin", "{link}", "{to_program}"])
def test_a_program_of_the_workspace_is_not_found_through_the_path(
    root: Path, tmp_path: Path, entry: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(root / "bin" / "python3")
    program(root / "python3")
    (tmp_path / "link").symlink_to(root / "bin")
    (tmp_path / "to_program").mkdir()
    (tmp_path / "to_program" / "python3").symlink_to(root / "python3")
    monkeypatch.chdir(root)
    path = entry.format(root=root, link=tmp_path / "link", to_program=tmp_path / "to_program")
    assert isinstance(find_interpreter(root, "", {"PATH": path}), NotRun)


async def test_an_interpreter_says_what_it_has(python: Interpreter, ask: Ask) -> None:
    said = await ask(python)
    assert isinstance(said, Capabilities)
    assert said.version == tuple(sys.version_info[:3])
    assert {"pytest", "coverage"} <= said.modules
    assert f"pytest {pytest.__version__}" in said.tools
    assert not any(tool.startswith("coverage") for tool in said.tools), "it does not extend pytest"
    assert python.path.parent.parent in said.places.prefixes


async def test_of_a_script_that_looks_an_interpreter_up_the_program_itself_runs_the_tests(
    python: Interpreter,
    tmp_path: Path,
    workspace_of: Callable[..., Workspace],
    run_in_shadow: Callable[..., Any],
    ask: Ask,
) -> None:
    """As pyenv and asdf put them on the PATH, in a folder that a run does not see."""
    shim = program(tmp_path / "shims" / "python3", f'#!/bin/sh\nexec {python.path} "$@"\n')
    found = find_interpreter(tmp_path / "other", "", {"PATH": str(shim.parent)})
    assert isinstance(found, Interpreter)
    assert found.path == shim
    workspace = workspace_of("""
        #- test_one.py
        def test_one(): pass
        """)
    run = await run_in_shadow(workspace, interpreter=found)
    assert [outcome.outcome for outcome in run.outcomes] == ["passed"], run
    said = await ask(found)
    assert isinstance(said, Capabilities)
    assert said.program == python.path


async def test_an_interpreter_names_what_extends_its_pytest(ask: Ask) -> None:
    said = await ask(Interpreter(Path(sys.executable), "test"))
    assert isinstance(said, Capabilities)
    assert f"pytest-asyncio {metadata.version('pytest-asyncio')}" in said.tools


async def test_asking_imports_nothing_from_the_folder_we_are_in(
    python: Interpreter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ask: Ask
) -> None:
    for name in ("json.py", "site.py", "sitecustomize.py", "pytest.py"):
        (tmp_path / name).write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    copy = tmp_path / "python"
    copy.symlink_to(python.path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    await ask(Interpreter(copy, "test"))
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    "text",
    ["#!/bin/sh\necho no Python >&2\nexit 1\n", "#!/nowhere/interpreter\n", "#!/bin/sh\necho rolecall-probe:oops\n"],
)
async def test_a_program_that_is_no_python_is_said_to_be_none(tmp_path: Path, text: str, ask: Ask) -> None:
    answer = await ask(Interpreter(program(tmp_path / "python", text), "test"))
    assert isinstance(answer, NotRun)
    assert str(tmp_path / "python") in answer.reason
    assert SETTING in answer.next_step


async def test_what_is_installed_later_is_noticed(
    tmp_path: Path, make_environment: Callable[..., Path], ask: Ask
) -> None:
    site = make_environment(tmp_path / "environment", with_pytest=False)
    interpreter = Interpreter(tmp_path / "environment" / "bin" / "python", "test")
    before = await ask(interpreter)
    assert isinstance(before, Capabilities)
    assert "pytest" not in before.modules
    os.utime(site, ns=(0, 0))
    assert await ask(interpreter) == before
    (site / "pytest.py").touch()
    after = await ask(interpreter)
    assert isinstance(after, Capabilities)
    assert "pytest" in after.modules


async def test_an_unchanged_interpreter_is_asked_once(tmp_path: Path, ask: Ask) -> None:
    asked = tmp_path / "asked"
    python = program(tmp_path / "python", f'#!/bin/sh\necho x >> {asked}\nexec {sys.executable} "$@"\n')
    first = await ask(Interpreter(python, "test"))
    assert await ask(Interpreter(python, "test")) is first
    assert asked.read_text() == "x\n"
