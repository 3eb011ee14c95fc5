"""What the tests of languages ask of facts."""

from __future__ import annotations

import textwrap
from collections.abc import Callable

import pytest

from rolecall_analysis.languages import language_of, read_facts
from rolecall_analysis.values import FileFacts

Read = Callable[[str, str], FileFacts]


@pytest.fixture
def read() -> Read:
    """The facts of a dedented text, as the file of that name."""

    def facts(path: str, text: str) -> FileFacts:
        language = language_of(path)
        assert language is not None
        return read_facts(path, textwrap.dedent(text), language)

    return facts
