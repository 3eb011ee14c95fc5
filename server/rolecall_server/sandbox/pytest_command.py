"""How pytest is started in a shadow: its arguments, all it sees as its environment, and the folder it tells into."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rolecall_server.sandbox.confinement import Command
from rolecall_server.sandbox.interpreter import Capabilities, Interpreter
from rolecall_server.sandbox.shadow import Shadow

_PLUGIN = Path(__file__).with_name("child") / "rolecall_report.py"
_SYSTEM_PATH = ("/usr/local/bin", "/usr/bin", "/bin", "/usr/local/sbin", "/usr/sbin", "/sbin")
_WINDOWS_NEEDS = ("SYSTEMROOT", "COMSPEC", "PATHEXT")
_XDG = ("CACHE_HOME", "CONFIG_HOME", "DATA_HOME", "STATE_HOME", "RUNTIME_DIR")


@dataclass(frozen=True)
class RunFolder:
    """Where one run has its home, its temporary files and its report; removed when it is over."""

    path: Path

    @property
    def home(self) -> Path:
        """An empty home directory."""
        return self.path / "home"

    @property
    def temporary(self) -> Path:
        """The folder for temporary files."""
        return self.path / "tmp"

    @property
    def plugin(self) -> Path:
        """A folder with the reporting plugin, its request, and later its report."""
        return self.path / "plugin"

    @property
    def lent(self) -> Path:
        """A folder with nothing but the packages that are lent to the run."""
        return self.path / "lent"

    @property
    def report(self) -> Path:
        """What the plugin told."""
        return self.plugin / "report.jsonl"


def make_run_folder(shadow: Shadow, measure: Sequence[str]) -> RunFolder:
    """A new folder for one run in *shadow*, with the plugin and its request to measure the files *measure*."""
    folder = RunFolder(Path(tempfile.mkdtemp(prefix="run-", dir=shadow.scratch)))
    for below in (folder.home, folder.temporary, folder.plugin):
        below.mkdir()
    shutil.copyfile(_PLUGIN, folder.plugin / _PLUGIN.name)
    request = {"original": str(shadow.original), "copy": str(shadow.root), "measure": list(measure)}
    (folder.plugin / "request.json").write_text(json.dumps(request), "utf-8")
    return folder


def pytest_command(
    shadow: Shadow, interpreter: Interpreter, capabilities: Capabilities, folder: RunFolder, arguments: Sequence[str]
) -> Command:
    """pytest with the repository's own configuration, told to report to *folder* and to run everything asked for."""
    fixed = (
        f"--rootdir={shadow.root}",
        f"--basetemp={folder.temporary / 'pytest'}",
        "--color=no",
        "--tb=short",
        "--maxfail=0",
        "--continue-on-collection-errors",
    )
    return Command(
        (str(interpreter.path), "-m", "pytest", "-p", _PLUGIN.stem, *fixed, *arguments),
        _environment(shadow, interpreter, capabilities, folder),
    )


def steering_flags(capabilities: Capabilities) -> list[str]:
    """What keeps installed plugins from measuring, scattering or shuffling, so that each run is like the last."""
    flags = {
        "pytest_cov": ["--no-cov"],
        "xdist": ["--numprocesses=0", "--dist=no"],
        "pytest_randomly": ["--randomly-seed=0", "--randomly-dont-reorganize"],
    }
    return [flag for module, given in flags.items() if module in capabilities.modules for flag in given]


def lend_coverage(folder: RunFolder) -> Path:
    """Puts our coverage.py, and nothing else of ours, where the run can import it; where it really lies."""
    spec = importlib.util.find_spec("coverage")
    assert spec is not None
    assert spec.origin is not None
    package = Path(spec.origin).parent
    folder.lent.mkdir()
    try:
        (folder.lent / "coverage").symlink_to(package, target_is_directory=True)
    except OSError:
        shutil.copytree(package, folder.lent / "coverage")
    return package


def _environment(
    shadow: Shadow, interpreter: Interpreter, capabilities: Capabilities, folder: RunFolder
) -> dict[str, str]:
    on_windows = sys.platform == "win32"
    system_path = (os.environ.get("PATH", ""),) if on_windows else _SYSTEM_PATH
    search_path = [*_import_roots(shadow, capabilities), folder.plugin, folder.lent]
    environment = {
        "PATH": os.pathsep.join([str(interpreter.path.parent), *system_path]),
        "HOME": str(folder.home),
        **dict.fromkeys(("TMPDIR", "TMP", "TEMP"), str(folder.temporary)),
        **{f"XDG_{name}": str(folder.home / f".{name.lower()}") for name in _XDG},
        "LANG": "C.UTF-8",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
        "PYTHONPATH": os.pathsep.join(map(str, search_path)),
    }
    if capabilities.user_base is not None and capabilities.user_base.is_dir():
        environment["PYTHONUSERBASE"] = str(capabilities.user_base)
    if on_windows:
        environment |= {name: os.environ[name] for name in _WINDOWS_NEEDS if name in os.environ}
    return environment


def _import_roots(shadow: Shadow, capabilities: Capabilities) -> list[Path]:
    """Where modules of the copy are imported from, ahead of any editable installation of the workspace itself."""
    roots = [shadow.root]
    source = shadow.root / "src"
    if source.is_dir() and not (source / "__init__.py").exists():
        roots.append(source)
    original = shadow.original
    kept = [prefix.resolve() for prefix in capabilities.prefixes if prefix.resolve().is_relative_to(original)]
    for entry in (entry.resolve() for entry in capabilities.search_path):
        if entry.is_relative_to(original) and not any(entry.is_relative_to(prefix) for prefix in kept):
            roots.append(shadow.root / entry.relative_to(original))
    return list(dict.fromkeys(roots))
