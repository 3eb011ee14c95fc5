"""What a call gave and what was promised, read off the report of a test as pytest wrote it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rolecall_server.craft.test_quality.promises import gave_and_promised
from rolecall_server.craft.test_quality.test_text import written_tests
from rolecall_server.sandbox import TestResult

HEAD = """\
import pytest
import unittest

def share(total, n):
    return total // n

def check(total, n, want):
    assert share(total, n) == want

"""


def failing(folder: Path, test: str) -> tuple[str, TestResult]:
    """The text of a file with one failing *test*, and how it ended by pytest itself."""
    text = HEAD + test
    (folder / "test_a.py").write_text(text)
    command = [sys.executable, "-m", "pytest", "-q", "--tb=short", "-p", "no:cacheprovider", "--color=no", "test_a.py"]
    environ = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # loading ours takes longer than the test
    output = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, check=False).stdout
    detail = output[output.index("test_a.py:") : output.index("=== short test summary")]
    message = next(line[1:].strip() for line in detail.splitlines() if line.startswith("E "))
    return text, TestResult("test_a.py::test_it", "failed", message=message, detail=detail)


@pytest.mark.parametrize(
    ("test", "told"),
    [
        ("def test_it():\n    assert share(7, 2) == 3.5\n", ("3", "3.5")),
        ("def test_it():\n    assert 3.5 == share(7, 2)\n", ("3", "3.5")),
        ("def test_it():\n    got = share(7, 2)\n    assert 3.5 == got, 'fair'\n", ("3", "3.5")),
        ("def test_it():\n    assert share(7, 2) > 3\n", ("3", "> 3")),
        ("def test_it():\n    assert str(share(7, 2)) in ('a', 'b')\n", ("'3'", "in ('a', 'b')")),
        ("def test_it():\n    check(7, 2, 3.5)\n", ("3", "3.5")),
        ("def test_it():\n    with pytest.raises(ValueError):\n        share(7, 2)\n", ("no exception", "ValueError")),
        (
            "def test_it():\n    assert share(7, 0) == 0\n",
            ("ZeroDivisionError: integer division or modulo by zero", "0"),
        ),
        (
            "def test_it():\n    with pytest.raises(ValueError):\n        share(7, 0)\n",
            ("ZeroDivisionError: integer division or modulo by zero", "ValueError"),
        ),
        ("def test_it():\n    assert share(7, 2) == 3 == 4\n", ("", "")),
        ("def test_it():\n    assert (share(7, 2) == 3) == (share(7, 2) == 4)\n", ("", "")),
    ],
)
def test_what_a_call_gave_and_what_was_promised_are_plain_values(
    tmp_path: Path, test: str, told: tuple[str, str]
) -> None:
    text, outcome = failing(tmp_path, test)
    (written,) = written_tests(text)
    assert gave_and_promised(written, "share", outcome) == told


def test_what_unittest_compared_is_told_too(tmp_path: Path) -> None:
    text, outcome = failing(
        tmp_path, "class A(unittest.TestCase):\n    def test_it(self):\n        self.assertEqual(3.5, share(7, 2))\n"
    )
    (written,) = written_tests(text)
    assert gave_and_promised(written, "share", outcome) == ("3", "3.5")
