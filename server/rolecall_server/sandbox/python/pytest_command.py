"""The start of pytest or unittest in a shadow: arguments, environment, and what it has to read."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from rolecall_server.sandbox.python.interpreter import Capabilities
from rolecall_server.sandbox.run_folder import RunFolder, clean_environment
from rolecall_server.sandbox.shadow.shadow import Shadow
from rolecall_server.sandbox.walls.confinement import Command

_START = "import sys; sys.path[0] = sys.argv.pop(1); import rolecall_start; sys.exit(rolecall_start.main())"
"""``python -m pytest -p rolecall_report``, without the workspace on the path while both are imported."""
_NO_INSTALLED_PLUGINS = "PYTEST_DISABLE_PLUGIN_AUTOLOAD"
"""pytest's own variable: where a developer sets it, it holds in the sandbox too. A dozen plugins load for 2 s."""


def request_report(
    shadow: Shadow,
    folder: RunFolder,
    capabilities: Capabilities,
    measure: Sequence[str],
    *,
    by_test: bool = False,
    order_seed: int | None = None,
    more: Mapping[str, object] | None = None,
) -> None:
    """Puts what reports into *folder*, with its request to measure the files *measure*.

    *by_test* asks which test reached which line; *order_seed* for an order of its own; *more* is for what else is
    started there.
    """
    for name, code in capabilities.compiled.items():
        (folder.plugin / f"{name}.pyc").write_bytes(code)
    request = {
        "original": str(shadow.original),
        "copy": str(shadow.root),
        "measure": list(measure),
        "by_test": by_test,
        "order_seed": order_seed,
        **(more or {}),
    }
    (folder.plugin / "request.json").write_text(json.dumps(request), "utf-8")


def pytest_command(shadow: Shadow, capabilities: Capabilities, folder: RunFolder, arguments: Sequence[str]) -> Command:
    """pytest with the repository's own configuration, told to report to *folder* and to run everything asked for."""
    fixed = (
        f"--rootdir={shadow.root}",
        f"--basetemp={folder.temporary / 'pytest'}",
        "--color=no",
        "--tb=short",
        # Against `-x` in the repository's own settings, with which only the first failure would be seen.
        "--maxfail=0",
        "--continue-on-collection-errors",
    )
    return _started("pytest", shadow, capabilities, folder, [*fixed, *arguments])


def unittest_command(shadow: Shadow, capabilities: Capabilities, folder: RunFolder, targets: Sequence[str]) -> Command:
    """unittest on the files or node ids *targets*, told to report to *folder*; without any, on all it would find."""
    return _started("unittest", shadow, capabilities, folder, targets)


def mutation_command(shadow: Shadow, capabilities: Capabilities, folder: RunFolder) -> Command:
    """Return what tries the mutants that are asked for in *folder*."""
    return _started("mutation", shadow, capabilities, folder, ())


def _started(
    framework: str, shadow: Shadow, capabilities: Capabilities, folder: RunFolder, arguments: Sequence[str]
) -> Command:
    environment = python_environment(shadow, capabilities, folder)
    # Python would have the workspace on its path at once; `rolecall_start` puts it there after pytest is imported.
    del environment["PYTHONPATH"]
    places = [*_import_roots(shadow, capabilities), folder.lent]
    environment["ROLECALL_PATH"] = os.pathsep.join(map(str, places))
    return Command((str(capabilities.program), "-c", _START, str(folder.plugin), framework, *arguments), environment)


def steering_flags(capabilities: Capabilities) -> list[str]:
    """Return the flags that keep installed plugins from measuring, scattering or shuffling, so that each run is like
    the last; none where plugins that are installed are not loaded.
    """
    if os.environ.get(_NO_INSTALLED_PLUGINS):
        return []
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
    # Windows lets few users make links.
    except OSError:
        shutil.copytree(package, folder.lent / "coverage")
    return package


def python_environment(shadow: Shadow, capabilities: Capabilities, folder: RunFolder) -> dict[str, str]:
    """Return the environment that a Python sees: modules come from *shadow*, and hashes are the same each time."""
    search_path = [*_import_roots(shadow, capabilities), folder.plugin, folder.lent]
    environment = {
        **clean_environment(folder, [capabilities.program.parent]),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
        "PYTHONPATH": os.pathsep.join(map(str, search_path)),
    }
    if value := os.environ.get(_NO_INSTALLED_PLUGINS):
        environment[_NO_INSTALLED_PLUGINS] = value
    if capabilities.user_base is not None and capabilities.user_base.is_dir():
        environment["PYTHONUSERBASE"] = str(capabilities.user_base)
    return environment


def _import_roots(shadow: Shadow, capabilities: Capabilities) -> list[Path]:
    """Return the folders from which modules of the copy are imported, ahead of any editable installation of the
    workspace itself.
    """
    roots = [shadow.root]
    if shadow.on_disk("src").is_dir() and not shadow.on_disk("src/__init__.py").exists():
        roots.append(shadow.root / "src")
    original = shadow.original
    prefixes = [prefix.resolve() for prefix in capabilities.places.prefixes]
    kept = [prefix for prefix in prefixes if prefix.is_relative_to(original)]
    for entry in (entry.resolve() for entry in capabilities.search_path):
        if entry.is_relative_to(original) and not any(entry.is_relative_to(prefix) for prefix in kept):
            roots.append(shadow.root / entry.relative_to(original))
    return list(dict.fromkeys(roots))
