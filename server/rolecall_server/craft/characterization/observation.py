"""Calls of a module, and what was seen when they were made: plain values."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from rolecall_server.python_trees import parse_expression

OutcomeKind = Literal["value", "raises", "slow", "refused", "crashed", "unbuilt"]
"""``refused``: it would have reached beyond its process. ``unbuilt``: an operand could not be made."""

Arc = tuple[int, int]
"""A line that follows another in one run of a function; a negative one stands for the function's start or end."""


_MAX_SAID = 60
DOCUMENTED, IN_REPOSITORY, LIKELY, MADE_UP, THROUGH_ANOTHER, NEAR_ANOTHER, STOOD_IN = range(7)
"""Where calls come from: an example in a docstring, a call in the repository, the types that the callable has or very
likely has, anything else. The next two are calls of another module's function, through which the code is reached: as
somebody made them, and variations. In the last ones a mock stands in for an object."""

ENVIRONMENT = "os.environ"
"""The variables of a process, patched as the name of a module is: a test gives those that it needs, and no other."""


@dataclass(frozen=True)
class CandidateCall:
    """One use of a callable: a template and the expressions that fill it."""

    target: str
    """The qualified name of what is called."""
    template: str
    """An expression with ``{0}``, ``{1}`` for the operands: ``camelize({0}, {1})``, ``{0} == {1}``."""
    operands: tuple[str, ...]
    """An expression in the module's own names for each."""
    names: tuple[str, ...] = ()
    """The name of each operand."""
    # Not compared: a call that somebody wrote and that types suggest too is one call.
    origin: int = field(default=MADE_UP, compare=False)
    """Where it comes from, the most telling first: one of the numbers above."""
    patched: tuple[tuple[int, str], ...] = ()
    """The operands that take the place of a name of the module while it runs, each with that name in full."""

    @property
    def is_through_another(self) -> bool:
        """Return whether it calls a function of another module, through which the code is reached."""
        return self.origin in (THROUGH_ANOTHER, NEAR_ANOTHER)

    @property
    def source(self) -> str:
        """The whole expression."""
        return filled(self.template, self.operands)

    def cost(self) -> tuple[int, int, int, str]:
        """Smaller is the better example: real before made up, short before long, plain before odd."""
        text = self.source
        n_odd = sum(not (character.isascii() and character.isprintable()) for character in text)
        return (self.origin, 2 * len(self.operands) + len(text) // 8 + 2 * n_odd, len(text), text)


def filled(template: str, operands: Sequence[str]) -> str:
    """Return *template* with *operands* in their places, in parentheses where an operator or a dot would tear them
    apart.
    """
    if template[:1].isalpha() or template.startswith("lambda"):
        return template.format(*operands)
    return template.format(*(source if is_atom(source) else f"({source})" for source in operands))


def is_atom(source: str) -> bool:
    """Return whether an expression stands as it is before a dot and beside an operator."""
    node = parse_expression(source)
    if isinstance(node, ast.Constant):
        return not isinstance(node.value, int | float | complex) or isinstance(node.value, bool)
    return isinstance(
        node,
        ast.Call | ast.Attribute | ast.Subscript | ast.Name | ast.List | ast.Dict | ast.Set | ast.Tuple | ast.ListComp,
    )


View = tuple[str, str]
"""A template with ``{}`` for a value, and the literal it equals."""


Part = tuple[str, str, str]
"""A template with ``{}`` for a value, the type of the object it gives, and a text that is the same where objects look
the same.
"""


@dataclass(frozen=True)
class Observation:
    """The observed behaviour of one call."""

    kind: OutcomeKind
    type_name: str = ""
    """Of the result, or of the exception."""
    views: tuple[View, ...] = ()
    """The properties of the result that a test can check; empty where nothing of it can be written down."""
    effects: tuple[tuple[int, tuple[View, ...]], ...] = ()
    """The operands it changed, and what they are after it."""
    printed: str = ""
    imports: tuple[tuple[str, str], ...] = ()
    """Names that the views use, and the module of each; empty for a module itself."""
    exception_module: str = ""
    message: str = ""
    deliberate: bool = False
    """A ``raise`` statement of the workspace raised the exception."""
    inside: bool = False
    """The exception passed through the workspace's own code, rather than refusing the call's form."""
    line: int = 0
    """The innermost line of the module that the exception passed through."""
    lazily: bool = False
    """The exception came when the iterator that was returned was used."""
    by_chance: bool = False
    """Random numbers were drawn."""
    arcs: frozenset[Arc] = frozenset()
    parts: tuple[Part, ...] = ()
    """The objects of the workspace that the result is or holds, where that was asked for."""
    warns: tuple[tuple[str, str], ...] = ()
    """The kinds of warnings it gave: a name and its module each."""
    pollutes: bool = False
    """It changed the module's own state."""
    source: str = ""
    """The expression that gives the result, with ``{0}`` for the first operand, where a mock there gave it."""
    takes: tuple[str, ...] | None = None
    """The names of what the result must be given, where it is a function of the module; with a star, of any number."""
    variables: tuple[str, ...] = ()
    """The environment variables that the workspace's code asked for."""
    duration_s: float = 0.0

    @property
    def outcome(self) -> tuple[object, ...]:
        """Return the parts of the observation that a test could check: equal for equal behaviour."""
        if self.kind == "raises":
            # Without its message, which may differ where the behaviour does not; `stable` empties one that does.
            return ("raises", self.type_name, (), (), "")
        return (self.kind, "", self.views, self.effects, self.printed)

    @property
    def said(self) -> str:
        """Return the beginning of what the exception says, which a test asserts too; empty where that is not plain."""
        if len(self.message) > _MAX_SAID:
            return self.message[:_MAX_SAID].rpartition(" ")[0] if self.message.isprintable() else ""
        return self.message if self.message.isprintable() else ""

    @property
    def lines(self) -> frozenset[int]:
        """The lines it ran."""
        return frozenset(line for arc in self.arcs for line in arc if line > 0)
