"""Repositories that run something when somebody looks at them carelessly: configuration, git, environments, programs.

What they run leaves a trace in a place that no process behind walls can reach.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from support.workspaces import FILES, write_workspace

Harm = Literal["runs", "prints", "hangs", "fails"]
"""It runs something, prints what a terminal obeys or a secret, keeps a reader for ever, or brings one down."""

SECRET = "the word that nobody may be told"
"""Stands in the home directory, and in private files of the repository."""
SHELL = '#!/bin/sh\necho "$0" >> "MARKER" 2>/dev/null\nexec cat\n'
PYTHON = (
    "import contextlib, pathlib\n"
    'with contextlib.suppress(OSError):\n    pathlib.Path("MARKER").open("a").write(f"{__name__}\\n")\n'
)
NODE = 'try { require("fs").appendFileSync("MARKER", "node\\n") } catch {}\n'
OURS = sys.executable


@dataclass(frozen=True)
class Trap:
    """A repository with something in it."""

    name: str
    careless: tuple[str, ...]
    """A command in the repository that springs it, without walls."""
    harm: Harm = "runs"
    files: Mapping[str, str] = field(default_factory=dict[str, str])
    """``MARKER`` in them is where to leave a trace, ``ROOT`` the repository."""
    plant: Callable[[Path], None] = lambda root: None
    """What is to be done in the repository beside writing files."""
    shown: str = SECRET
    """What the careless command prints, and nobody else may."""
    target: str = "shop/price.py"
    before: tuple[tuple[str, ...], ...] = ()
    """Commands to be given first."""

    def set_up(self, root: Path, marker: Path, home: Path) -> None:
        """Write the repository below *root*, and a key into *home*."""
        (home / ".ssh").mkdir(parents=True)
        (home / ".ssh" / "id_rsa").write_text(f"{SECRET}\n")
        for path, text in {**FILES, **self.files}.items():
            write_workspace(root, {path: text.replace("MARKER", str(marker)).replace("ROOT", str(root))})
            if text.startswith("#!"):
                (root / path).chmod(0o755)
        self.plant(root)


def git(root: Path, *arguments: str) -> None:
    """Carry out a git command in *root*, with nothing of the machine's configuration."""
    environ = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1"}
    # The traps' own file monitor must not be sprung here, and git takes no submodule from a folder unless
    # that is allowed.
    given = ("user.name=a", "user.email=a@example.com", "protocol.file.allow=always", "core.fsmonitor=false")
    options = [word for one in given for word in ("-c", one)]
    subprocess.run(["git", "-C", root, *options, *arguments], env=environ, check=True, capture_output=True)


def commit(root: Path) -> None:
    """Make a repository of *root* and commit everything."""
    git(root, "init", "-q")
    git(root, "add", "-Af")
    git(root, "commit", "-qm", "total")


# -- what Python and pytest read


def _python(name: str, files: Mapping[str, str], *careless: str) -> Trap:
    return Trap(name, (OURS, *(careless or ("-m", "pytest", "-q"))), files={"evil.py": PYTHON, **files})


_FIRST = "import sys; sys.path.insert(0, ''); import "
_PYTHON = [
    _python("pytest.ini", {"pytest.ini": "[pytest]\naddopts = -p evil\n"}),
    _python("pyproject.toml", {"pyproject.toml": "[tool.pytest.ini_options]\naddopts = '-p evil'\n"}),
    _python("setup.cfg", {"setup.cfg": "[tool:pytest]\naddopts = -p evil\n"}),
    _python("conftest.py", {"conftest.py": PYTHON}),
    _python("a module", {"shop/__init__.py": PYTHON}, "-c", "import shop"),
    _python("a test", {"tests/test_evil.py": PYTHON}),
    _python("setup.py", {"setup.py": PYTHON}, "setup.py", "--version"),
    _python("sitecustomize.py", {"sitecustomize.py": PYTHON}, "-c", ""),
    _python(
        "a configuration of coverage",
        {".coveragerc": "[run]\nplugins = evil\n", "evil.py": f"{PYTHON}def coverage_init(*_):\n    pass\n"},
        *("-m", "coverage", "run", "shop/cart.py"),
    ),
    _python("a pytest.py", {"pytest.py": PYTHON}, "-c", f"{_FIRST}pytest"),
    _python("a coverage.py", {"coverage.py": PYTHON}, "-c", f"{_FIRST}coverage"),
    _python(
        "a module of our name",
        dict.fromkeys(("rolecall_server/__init__.py", "rolecall_server/__main__.py", "rolecall_report.py"), PYTHON),
        *("-c", f"{_FIRST}rolecall_server"),
    ),
]

# -- what git reads


def _configured(text: str) -> Callable[[Path], None]:
    def plant(root: Path) -> None:
        commit(root)
        (root / "shop" / "cart.py").write_text((root / "shop" / "cart.py").read_text() + "# changed\n")
        with (root / ".git" / "config").open("a") as config:
            config.write(text.replace("STRIKE", str(root / "strike.sh")))

    return plant


def _git(name: str, plant: Callable[[Path], None] | str, *careless: str, **files: str) -> Trap:
    """Return a repository whose configuration names a program; ``__`` at the start of a file's name is a dot."""
    named = {path.replace("__", "."): text for path, text in files.items()}
    planted = _configured(plant) if isinstance(plant, str) else plant
    return Trap(name, ("git", *(careless or ("status",))), files={"strike.sh": SHELL, **named}, plant=planted)


def _hook(root: Path) -> None:
    commit(root)
    for name in ("post-checkout", "post-index-change", "reference-transaction"):
        (root / ".git" / "hooks" / name).write_bytes((root / "strike.sh").read_bytes())
        (root / ".git" / "hooks" / name).chmod(0o755)


_MONITOR = "[core]\n\tfsmonitor = STRIKE\n"


def _renamed(root: Path) -> None:
    """Keep the repository's own files in a folder of another name, as can be committed."""
    _configured(_MONITOR)(root)
    (root / ".git").rename(root / "data.git")
    (root / ".git").write_text("gitdir: data.git\n")


def _submodule(root: Path) -> None:
    commit(root)
    inner = root / "vendor"
    write_workspace(inner, {"lib.py": "x = 1\n"})
    commit(inner)
    with (inner / ".git" / "config").open("a") as config:
        config.write(_MONITOR.replace("STRIKE", str(root / "strike.sh")))
    git(root, "submodule", "add", "-q", "./vendor", "vendor")


def _updated_submodule(root: Path) -> None:
    _submodule(root)
    with (root / ".git" / "config").open("a") as config:
        config.write(f'[submodule "vendor"]\n\turl = {root}/vendor\n\tupdate = !{root}/strike.sh\n\tactive = true\n')
    git(root, "commit", "-qm", "vendor")
    git(root / "vendor", "commit", "-q", "--allow-empty", "-m", "two")


def _lost_object(root: Path) -> None:
    """Lose the blobs, which git would fetch from where the configuration says, by a program."""
    remote = '[remote "origin"]\n\turl = "ext::STRIKE %S"\n\tpromisor = true\n[protocol]\n\tallow = always\n'
    _configured(f"{remote}[extensions]\n\tpartialClone = origin\n")(root)
    config = root / ".git" / "config"
    config.write_text(config.read_text().replace("repositoryformatversion = 0", "repositoryformatversion = 1"))
    for one in (root / ".git" / "objects").glob("??/*"):
        asked = ["git", "-C", root, "cat-file", "-t", one.parent.name + one.name]
        if subprocess.run(asked, capture_output=True, check=False).stdout == b"blob\n":
            one.chmod(0o644)
            one.unlink()


_GIT = [
    _git("a file monitor", _MONITOR),
    _git("hooks", _hook, "checkout", "-qb", "new"),
    _git("a folder of hooks", "[core]\n\thooksPath = hooks\n", **{"hooks/post-index-change": SHELL}),
    _git("a program for differences", "[diff]\n\texternal = STRIKE\n", "diff"),
    _git("a program for texts", '[diff "a"]\n\ttextconv = STRIKE\n', "diff", __gitattributes="*.py diff=a\n"),
    _git("a filter", '[filter "a"]\n\tclean = STRIKE\n', "diff", __gitattributes="*.py filter=a\n"),
    _git("a pager", "[core]\n\tpager = STRIKE\n", "-c", "alias.x=!$(git config core.pager)", "x"),
    _git(
        "a file that is included",
        "[include]\n\tpath = ../a.inc\n",
        **{"a.inc": _MONITOR.replace("STRIKE", "ROOT/strike.sh")},
    ),
    _git("a repository of another name", _renamed),
    _git("a submodule with a file monitor", _submodule),
    _git("a submodule that a program updates", _updated_submodule, "submodule", "update"),
    _git("an object that a program fetches", _lost_object, "diff", **{"strike.sh": SHELL.replace("exec cat\n", "")}),
]

# -- environments and programs


def _environment(root: Path) -> None:
    """Add an environment that links to a real Python, with a package that runs at its start."""
    packages = root / ".venv" / "lib" / f"python3.{sys.version_info.minor}" / "site-packages"
    packages.mkdir(parents=True)
    (root / ".venv" / "bin").mkdir()
    real = Path(os.path.realpath(OURS))
    (root / ".venv" / "bin" / "python").symlink_to(real)
    (root / ".venv" / "pyvenv.cfg").write_text(f"home = {real.parent}\n")
    (packages / "evil.py").write_text((root / "evil.py").read_text())
    (packages / "evil.pth").write_text("import evil\n")


_CONFIRMED = (("trust", "--yes"),)
_SCRIPT = {".venv/bin/python": SHELL, ".venv/bin/python3": SHELL, ".venv/pyvenv.cfg": "home = .\n"}
_STARTS = (".venv/bin/python", "-c", "")
_SETTINGS = {"rolecall.tests.interpreter": "./strike.sh", "python.defaultInterpreterPath": "./strike.sh"}
_WEB = {
    "web/price.js": "exports.total = (items) => items.reduce((sum, item) => sum + item, 0)\n",
    "web/price.test.js": "const { test } = require('node:test')\nconst { total } = require('./price.js')\n"
    "test('adds', () => { if (total([1, 2]) !== 3) throw new Error('no') })\n",
}


def _web(name: str, script: str, careless: tuple[str, ...], files: Mapping[str, str]) -> Trap:
    scripts = json.dumps({"scripts": dict.fromkeys(("test", "pretest", "prepare"), script)})
    return Trap(name, careless, files={**_WEB, "package.json": scripts, **files}, target="web/price.js")


_STARTED = [
    Trap("a Python that is a script", _STARTS, files=_SCRIPT),
    Trap("a Python that is a script, confirmed", _STARTS, files=_SCRIPT, before=_CONFIRMED),
    Trap("an environment", _STARTS, files={"evil.py": PYTHON}, plant=_environment),
    Trap("an environment, confirmed", _STARTS, files={"evil.py": PYTHON}, plant=_environment, before=_CONFIRMED),
    Trap(
        "programs on the path",
        ("sh", "-c", "PATH=.:$PATH; git"),
        files=dict.fromkeys(("git", "bwrap", "prlimit", "python3", "pytest", "uv", "conda", "less", "node"), SHELL),
    ),
    Trap("variables", ("sh", "-c", ". ./.env"), files=dict.fromkeys((".env", ".envrc"), "$(echo x >> MARKER)\n")),
    Trap(
        "an editor's settings",
        ("sh", "-c", f"$({OURS} -c 'import json; print(*json.load(open(\".vscode/settings.json\")).values())')"),
        files={"strike.sh": SHELL, ".vscode/settings.json": json.dumps(_SETTINGS)},
    ),
    _web(
        "scripts of a package",
        "./strike.sh",
        ("sh", "-c", "$(node -p 'require(\"./package.json\").scripts.test')"),
        {"strike.sh": SHELL},
    ),
    _web(
        "a jest of its own",
        "jest",
        ("node", "node_modules/jest/bin/jest.js"),
        {
            "jest.config.js": NODE,
            "node_modules/jest/package.json": '{"name": "jest", "version": "30.0.0", "bin": "bin/jest.js"}',
            "node_modules/jest/bin/jest.js": NODE,
            "node_modules/.bin/jest": f"#!/usr/bin/env node\n{NODE}",
        },
    ),
    _web("a test of Node", "node --test", ("node", "--test"), {"web/price.test.js": NODE + _WEB["web/price.test.js"]}),
]

RUNNING = [*_PYTHON, *_GIT, *_STARTED]
