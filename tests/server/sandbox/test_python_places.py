"""What a Python may read behind walls: what is installed, and no folder that a file merely names."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rolecall_server.sandbox import Capabilities, Confinement, Interpreter, Shadow, TestRun, probe, shadow_workspace
from rolecall_server.sandbox.python.places import PythonPlaces, places_of
from rolecall_server.sandbox.walls.bubblewrap import Bubblewrap, usual_limits
from rolecall_server.workspace import Workspace

LEAK = """
import pathlib

HOME = pathlib.Path({home!r})

def test_leak():
    seen = []
    for name in {names!r}:
        try:
            seen.append((HOME / name / "secret").read_text())
        except OSError:
            pass
    raise AssertionError(",".join(["seen", *seen]))
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = (tmp_path / "home").resolve()
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    return folder


@pytest.fixture
def site(root: Path, home: Path, make_environment: Callable[..., Path]) -> Path:
    """The folder of packages of an environment in the workspace."""
    return make_environment(root / ".venv")


def secret_in(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "secret").write_text(folder.name)
    return folder


def distribution(site: Path, name: str, folder: Path, *, editable: bool = True) -> None:
    """Write down that *name* is installed from *folder*."""
    (site / f"{name}-1.0.dist-info").mkdir()
    said = {"url": folder.as_uri(), "dir_info": {"editable": editable}}
    (site / f"{name}-1.0.dist-info" / "direct_url.json").write_text(json.dumps(said))


def plant(site: Path, home: Path) -> tuple[str, ...]:
    """Have files of an environment name folders of the home directory, each in a way of its own."""
    (site / "a.pth").write_text(f"{secret_in(home / '.ssh')}\n")
    (site / "b.pth").write_text(f"import sys; sys.path.append({str(secret_in(home / '.kube'))!r})\n")
    (site / "link").symlink_to(secret_in(home / ".aws"))
    (site / "c.egg-link").write_text(f"{secret_in(home / 'private')}\n.\n")
    (site / "easy-install.pth").write_text(f"{home / 'private'}\n")
    distribution(site, "dotted", secret_in(home / ".config"))
    (home / ".config" / "pyproject.toml").touch()
    distribution(site, "papers", secret_in(home / "papers"))
    distribution(site, "everything", home)
    (home / "pyproject.toml").touch()
    project = secret_in(home / "project")
    (project / "setup.py").touch()
    distribution(site, "unpacked", project, editable=False)
    (site / "d.pth").write_text(f"{project}\n")
    through = home / "through"
    through.mkdir()
    (through / "pyproject.toml").touch()
    (through / "src").symlink_to(secret_in(home / ".gnupg"))
    distribution(site, "through", through)
    (site / "e.pth").write_text(f"{through / 'src'}\n")
    return (".ssh", ".kube", ".aws", "private", ".config", "papers", "project", ".gnupg")


async def test_no_file_of_an_environment_opens_a_folder_of_the_home_directory(
    root: Path, home: Path, site: Path, run_in_shadow: Callable[..., Any], confinement: Confinement
) -> None:
    names = plant(site, home)
    (root / "test_leak.py").write_text(LEAK.format(home=str(home), names=names))
    run = await run_in_shadow(Workspace(root), interpreter=Interpreter(root / ".venv" / "bin" / "python", ".venv"))
    assert isinstance(run, TestRun)
    (said,) = (outcome.message for outcome in run.outcomes)
    if confinement.name == "unconfined copy":
        assert said == f"AssertionError: seen,{','.join(names)}", "the attempts are sound"
    else:
        assert said == "AssertionError: seen"
        assert "; not shown: " in run.confinement
        assert f"{home}/.config, which {site}/dotted-1.0.dist-info/direct_url.json names" in run.confinement


def test_each_folder_that_is_left_out_is_named_with_what_names_it(root: Path, home: Path, site: Path) -> None:
    plant(site, home)
    places = places_of(root / ".venv" / "bin" / "python", root)
    left_out = {(each.place.name, each.named_by.name) for each in places.left_out}
    assert left_out == {
        (".ssh", "a.pth"),
        (".aws", "link"),
        ("private", "easy-install.pth"),
        (".config", "direct_url.json"),
        ("papers", "direct_url.json"),
        ("home", "direct_url.json"),
        ("project", "d.pth"),
        ("src", "e.pth"),
    }
    assert places.left_out_words.endswith(", and 5 more")
    through = {home / "through"}  # the project itself is one; what its link leads to is not shown
    assert {place for place in places.shown if place.is_relative_to(home)} <= through


@pytest.mark.parametrize("way", ["a line of a .pth file", "an import hook"])
async def test_a_project_beside_the_workspace_that_is_installed_to_be_edited_can_be_imported(
    root: Path, home: Path, site: Path, run_in_shadow: Callable[..., Any], way: str
) -> None:
    sibling = home / "work" / "sibling"
    (sibling / "src" / "sibling").mkdir(parents=True)
    (sibling / "pyproject.toml").touch()
    (sibling / "src" / "sibling" / "__init__.py").write_text("A = 1\n")
    distribution(site, "sibling", sibling)
    if way == "an import hook":
        (site / "hook.py").write_text(f"import sys\nsys.path.append({str(sibling / 'src')!r})\n")
        (site / "sibling.pth").write_text("import hook\n")
    else:
        (site / "sibling.pth").write_text(f"{sibling / 'src'}\n")
    (root / "test_sibling.py").write_text("import sibling\ndef test_a(): assert sibling.A == 1\n")
    run = await run_in_shadow(Workspace(root), interpreter=Interpreter(root / ".venv" / "bin" / "python", ".venv"))
    assert isinstance(run, TestRun)
    assert [outcome.outcome for outcome in run.outcomes] == ["passed"], run.output
    assert "not shown" not in run.confinement


def test_of_a_project_with_a_line_in_a_file_that_line_alone_is_shown(root: Path, home: Path, site: Path) -> None:
    sibling = home / "sibling"
    (sibling / "src").mkdir(parents=True)
    (sibling / "setup.py").touch()
    distribution(site, "sibling", sibling)
    (site / "sibling.pth").write_text(f"# ours\n\n{sibling / 'src'}\n")
    places = places_of(root / ".venv" / "bin" / "python", root)
    assert {place for place in places.shown if place.is_relative_to(home)} == {sibling / "src"}
    assert places.left_out == ()


LIAR = """#!{python}
import base64, json, os, sys, zlib
names = [os.path.basename(path)[:-3] for path in sys.argv[4:]]
compiled = dict.fromkeys(names, base64.b64encode(zlib.compress(b"x")).decode())
print("rolecall-probe:" + json.dumps({{
    "version": [3, 11, 0], "modules": ["pytest"], "tools": [], "search_path": ["{secret}", "relative", "a\\0b"],
    "user_base": "{secret}", "program": "{secret}", "prefixes": ["{secret}"], "compiled": compiled,
}}))
"""


async def test_what_an_interpreter_says_of_itself_opens_nothing(root: Path, home: Path) -> None:
    secret = secret_in(home / ".ssh")
    liar = root / ".venv" / "bin" / "python"
    liar.parent.mkdir(parents=True)
    liar.write_text(LIAR.format(python="/usr/bin/env python3", secret=secret))
    liar.chmod(0o755)
    (root / ".venv" / "pyvenv.cfg").write_text(f"home = {secret / 'bin'}\n")
    walls = Bubblewrap(Path("/usr/bin/bwrap"), overlays=False, limits=usual_limits())
    async with shadow_workspace(Workspace(root), walls) as shadow:
        assert isinstance(shadow, Shadow)
        said = await probe(shadow, Interpreter(liar, ".venv"))
    assert isinstance(said, Capabilities), said
    assert said.program == liar
    assert (said.search_path, said.user_base) == ((), None)
    assert not any(place.is_relative_to(secret) for place in said.places.shown)


@pytest.mark.parametrize("way", ["--symlinks", "--copies"])
def test_the_python_beneath_an_environment_is_shown_wherever_it_lies(root: Path, home: Path, way: str) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", way, root / ".venv"], check=True)
    places = places_of(root / ".venv" / "bin" / "python", root)
    assert root / ".venv" in places.prefixes
    assert Path(sys.base_prefix) in places.prefixes
    assert places.left_out == ()


def test_a_version_that_is_a_link_to_another_is_shown_by_both_names(root: Path, home: Path) -> None:
    """As uv and pyenv name the newest Python of a minor version."""
    real = home / ".local" / "share" / "uv" / "python" / "cpython-3.12.7"
    (real / "bin").mkdir(parents=True)
    (real / "lib" / "python3.12").mkdir(parents=True)
    (real / "lib" / "python3.12" / "os.py").touch()
    (real / "bin" / "python3.12").touch()
    named = real.with_name("cpython-3.12")
    named.symlink_to(real.name)
    (root / ".venv" / "bin").mkdir(parents=True)
    (root / ".venv" / "pyvenv.cfg").write_text(f"home = {named / 'bin'}\n")
    (root / ".venv" / "bin" / "python").symlink_to(named / "bin" / "python3.12")
    assert set(places_of(root / ".venv" / "bin" / "python", root).prefixes) == {root / ".venv", named, real}


def test_a_link_to_the_program_of_another_environment_shows_nothing_of_that(
    root: Path, home: Path, make_environment: Callable[..., Path]
) -> None:
    other = make_environment(home / "other" / ".venv", with_pytest=False)
    (root / ".venv" / "bin").mkdir(parents=True)
    (root / ".venv" / "bin" / "python").symlink_to(home / "other" / ".venv" / "bin" / "python")
    (root / ".venv" / "pyvenv.cfg").write_text(f"home = {home / 'other' / '.venv' / 'bin'}\n")
    (root / ".venv" / "lib").mkdir()
    (root / ".venv" / "lib" / "python3.11").symlink_to(other.parent)
    places = places_of(root / ".venv" / "bin" / "python", root)
    shown = [place for place in places.shown if place.is_relative_to(home)]
    assert all(place.parent.name == "bin" for place in shown), "links, which are programs, and no folders"


def test_a_link_to_a_program_in_the_home_directory_shows_no_folder_there(root: Path, home: Path) -> None:
    tools = secret_in(home / ".local" / "bin")
    (tools / "tool").touch()
    (root / ".venv" / "bin").mkdir(parents=True)
    (root / ".venv" / "bin" / "python").symlink_to(tools / "tool")
    assert places_of(root / ".venv" / "bin" / "python", root) == PythonPlaces((), ())


@pytest.mark.parametrize("shared", [True, False])
def test_the_users_own_packages_are_shown_where_the_environment_uses_them(
    root: Path, home: Path, site: Path, shared: bool
) -> None:
    users = home / ".local" / "lib" / "python3.11" / "site-packages"
    users.mkdir(parents=True)
    configuration = root / ".venv" / "pyvenv.cfg"
    text = f"home = {os.path.dirname(sys.executable)}\ninclude-system-site-packages = {str(shared).lower()}\n"  # noqa: PTH120
    configuration.write_text(text)
    places = places_of(root / ".venv" / "bin" / "python", root)
    assert (users in places.shown) is shared


@pytest.mark.parametrize(
    "text", ['{"url": 3}', "[" * 100_000, '{"url": "file://[", "dir_info": {"editable": true}}', "\udcff"]
)
def test_a_record_that_says_nothing_sensible_shows_nothing(root: Path, home: Path, site: Path, text: str) -> None:
    (site / "odd-1.0.dist-info").mkdir()
    (site / "odd-1.0.dist-info" / "direct_url.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    (site / "odd.pth").write_bytes(b"a\0b\n" + b"/x" * 5000 + b"\n\xff\n")
    os.mkfifo(site / "fifo.pth")
    places = places_of(root / ".venv" / "bin" / "python", root)
    assert places.left_out == ()
