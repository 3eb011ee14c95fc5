"""The programming languages the graph reads, by file name.

Python has a reading of its own; the others share one walk, and a table of what the nodes of each grammar mean.
"""

from __future__ import annotations

import re

from rolecall_analysis.languages.notebook import read_notebook
from rolecall_analysis.languages.reader import read_tree
from rolecall_analysis.languages.table import grammar_for, language_of
from rolecall_analysis.values import FileFacts

__all__ = ["language_of", "read_facts"]

_CPP_WORDS = re.compile(r"^[ \t]*+(?:class|namespace|template|using|public|private|constexpr)\b|::", re.MULTILINE)
"""The words that tell a header of C++ from one of C, whose own grammar reads it better."""


def read_facts(path: str, text: str, language: str) -> FileFacts:
    """Return the facts of a file in another language than Python, or of a notebook.

    Broken source gives what can be read, and problems.

    Raises:
        KeyError: *language* is Python, or none that the graph has.
    """
    if language == "jupyter":
        return read_notebook(path, text)
    if language == "cpp" and path.endswith(".h") and not _CPP_WORDS.search(text):
        language = "c"
    return read_tree(path, text, grammar_for(language))
