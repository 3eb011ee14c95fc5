"""The choice of Python's test framework that runs given tests."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import Literal

from rolecall_server.sandbox.python.interpreter import Capabilities
from rolecall_server.sandbox.shadow.copying import entries
from rolecall_server.sandbox.shadow.shadow import Shadow
from rolecall_server.workspace import MAX_FILE_BYTES, read_beginning

Framework = Literal["pytest", "unittest"]

_OF_PYTEST = re.compile(r"^[ \t]*+(?:import|from)[ \t]++pytest\b|^(?:async )?def test_", re.MULTILINE)
_OF_UNITTEST = re.compile(r"^def load_tests\(", re.MULTILINE)
_TEST_NAME = re.compile(r"test.*\.py|.*_test\.py")
_ENOUGH = 50
"""Test files to look at where none are named."""
_SETTINGS = {
    "pytest.ini": "",
    "pyproject.toml": "[tool.pytest",
    "setup.cfg": "[tool:pytest]",
    "tox.ini": "[pytest]",
    "conftest.py": "",
}
"""Files that say that pytest is used, by what they hold then."""


def choose_framework(shadow: Shadow, capabilities: Capabilities, targets: Sequence[str]) -> Framework | None:
    """Return the framework that runs *targets*, files or node ids; ``None`` where they need pytest, which the
    interpreter lacks.

    pytest where it is there, because it runs unittest's tests too: all but those that a function ``load_tests``
    puts together, which is unittest's own way.
    """
    paths = [target.partition("::")[0] for target in targets] or _test_files(shadow)
    texts = [_read(shadow, path) for path in paths]
    asks_for_pytest = any(_OF_PYTEST.search(text) for text in texts) or any(_settings(shadow))
    if "pytest" in capabilities.modules:
        own_way = any(_OF_UNITTEST.search(text) for text in texts)
        return "unittest" if own_way and not asks_for_pytest else "pytest"
    return None if asks_for_pytest else "unittest"


def _test_files(shadow: Shadow) -> list[str]:
    """Return the first few of the files that have names of tests, for a run in which none are named."""
    everything = entries(shadow.root if shadow.changes is None else shadow.original, None)
    named = (entry.path for entry in everything if _TEST_NAME.fullmatch(entry.name))
    with suppress(OSError):
        return list(islice(named, _ENOUGH))
    return []


def _settings(shadow: Shadow) -> Iterator[bool]:
    for name, sign in _SETTINGS.items():
        yield shadow.on_disk(name).is_file() and sign in _read(shadow, name)


def _read(shadow: Shadow, path: str) -> str:
    return read_beginning(shadow.on_disk(path), MAX_FILE_BYTES).decode("utf-8", "replace")
