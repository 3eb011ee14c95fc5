"""The errors that keep a text from being parsed."""

from __future__ import annotations

import sys

from rolecall_analysis import FileFacts, is_python
from rolecall_server.python_trees import parse_python
from rolecall_server.review.proposals.evidence import GraphFinding


def syntax_errors(facts: FileFacts, text: str) -> tuple[GraphFinding, ...]:
    """Return the syntax errors of *text*, from which *facts* were read, in order; in most languages they are only
    possible errors.

    The graph's parser reads on where Python's would stop: wrong indentation is found by Python's own. Whatever else
    this Python refuses may be right for the one the project runs on.
    """
    if facts.problems:
        # Other grammars reject some valid code, as that which a C macro makes.
        certain = is_python(facts.path)
        spans = [(problem.span.start.line if problem.span else 0, problem.message) for problem in facts.problems]
        return tuple(
            GraphFinding("syntax error", facts.path, line, message, certain=certain) for line, message in spans
        )
    error = _python_error(text) if facts.path.endswith(".py") else None
    if error is None:
        return ()
    line = max(0, (error.lineno or 1) - 1)
    if isinstance(error, IndentationError):
        return (GraphFinding("syntax error", facts.path, line, f"{error.msg[0].upper()}{error.msg[1:]}."),)
    version = f"Python {sys.version_info.major}.{sys.version_info.minor}"
    return (GraphFinding("syntax error", facts.path, line, f"{version} says: {error.msg}.", certain=False),)


def _python_error(text: str) -> SyntaxError | None:
    try:
        parse_python(text)
    except SyntaxError as error:
        return error
    except (ValueError, RecursionError, MemoryError):
        return None
    return None
