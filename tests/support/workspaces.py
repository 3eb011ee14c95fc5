"""Small workspaces, and the environment a server is started with in tests."""

from __future__ import annotations

import atexit
import importlib.metadata
import os
import shutil
import tempfile
import venv
from functools import cache
from importlib.util import cache_from_source
from pathlib import Path

FILES = {
    "pyproject.toml": '[project]\nname = "shop"\nversion = "1"\n',
    "shop/__init__.py": "",
    "shop/price.py": (
        '"""Prices."""\n\n\ndef total(items):\n    """The sum of the prices."""\n    return sum(items)\n\n\n'
        'def discount(price, rate=0.1):\n    """The price less the rate."""\n    if rate > 1:\n'
        '        raise ValueError("rate")\n    return price * (1 - rate)\n'
    ),
    "shop/cart.py": "from shop.price import total\n\n\ndef checkout(cart):\n    return total(cart)\n",
    "tests/test_price.py": (
        "from shop.price import total\n\n\ndef test_total_of_nothing():\n    assert total([]) == 0\n"
    ),
}

TWO_FAULTS = """\
import re


def number(text, strict):
    found = re.match("[0-9]+", text)
    if strict:
        return 0
    return int(found.group())


def add(name, names=[]):
    names.append(name)
    return names
"""
"""None may be dereferenced in line 8, and a default is changed in line 12."""

GOOD_TESTS = """\
I cover `discount`, which nothing reaches so far.

FILE: tests/test_price.py
<<<<<<< SEARCH
from shop.price import total
=======
import pytest

from shop.price import discount, total
>>>>>>> REPLACE

FILE: tests/test_price.py
<<<<<<< SEARCH
=======
def test_total_adds():
    assert total([1, 2]) == 3


def test_discount_takes_a_tenth():
    assert discount(10) == 9


def test_discount_refuses_more_than_all():
    with pytest.raises(ValueError, match="rate"):
        discount(1, 2)
>>>>>>> REPLACE
"""


def write_workspace(root: Path, files: dict[str, str] | None = None) -> Path:
    """The files below *root*, which is resolved."""
    for path, text in (FILES if files is None else files).items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(text.encode("utf-8"))
    return root.resolve()


def environment(home: Path, base_url: str = "", **extra: str) -> dict[str, str]:
    """What a server under test sees: a home of its own, a lean Python for the tests, a model where one is named.

    What tests are worth is not measured, which takes longer than all else.
    """
    (home / "tmp").mkdir(parents=True, exist_ok=True)
    environ = {
        "HOME": str(home),
        "TMPDIR": str(home / "tmp"),
        "XDG_DATA_HOME": str(home / "data"),
        "PATH": os.environ["PATH"],
        "VIRTUAL_ENV": str(_lean_interpreter()),
        "LANG": "C.UTF-8",
        "ROLECALL_WORTH_SECONDS": "0",
        "ROLECALL_PROBE_LOCAL": "false",
    }
    if base_url:
        environ |= {"ROLECALL_BASE_URL": base_url, "ROLECALL_MODEL": "scripted-model"}
    return {**environ, **extra}


def contents(root: Path) -> dict[str, bytes]:
    """Every file below *root* and its bytes."""
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


@cache
def _lean_interpreter() -> Path:
    """A virtual environment with pytest and coverage and nothing else, as a small repository would have.

    The development environment has a dozen pytest plugins, which take longer to load than the tests to run.
    """
    folder = Path(tempfile.mkdtemp(prefix="rolecall-lean-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    venv.create(folder, symlinks=True)
    site_packages = next(folder.glob("lib/python*/site-packages"))
    for name in ("pytest", "pluggy", "iniconfig", "packaging", "pygments", "coverage"):
        install(name, site_packages)
    return folder


def install(name: str, site_packages: Path) -> None:
    """Put the distribution *name*, which we have, into the folder *site_packages*, as an installer that links does.

    Its compiled modules come along: behind walls nobody may write them, and every run would compile pytest anew.
    """
    found = importlib.metadata.distribution(name)
    for file in found.files or ():
        source = Path(str(found.locate_file(file)))
        if file.parts[0] == ".." or file.suffix in (".pyc", ".pth") or not source.is_file():
            continue
        _link(source, site_packages / file)
        if file.suffix == ".py" and (compiled := Path(cache_from_source(str(source)))).is_file():
            _link(compiled, Path(cache_from_source(str(site_packages / file))))


def _link(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source, target)
    except OSError:  # another disk
        shutil.copy2(source, target)
