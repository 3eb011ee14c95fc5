"""A file whose names are checked, and what is found wrong with them."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from rolecall_analysis import is_python
from rolecall_analysis.installed.world import World
from rolecall_server.review.names.guarded import guarded_nodes
from rolecall_server.review.names.inference import Inference, ScopedFile
from rolecall_server.review.names.values import Absent, Known


@dataclass(frozen=True)
class WrongName:
    """A name in a file that what it is used of does not have, or a call that what it reaches cannot take."""

    kind: Literal["module", "import", "attribute", "call", "unheard"]
    """``unheard``: an attribute or argument of something unknown, whose name nothing has."""
    line: int
    """From 0."""
    name: str
    """The module, the name that is imported or read, or what is called, as written."""
    holder: Known | None
    """The module, class or object that does not have it; of a call the function or class."""
    certain: bool
    reason: str = ""
    """Of a call: why it fails, as a sentence without a subject."""
    header: str = ""
    """Of a call: the header of the function that it reaches."""
    after: tuple[int, ...] = ()
    """The lines, from 0, that use what comes of it, and so could not be checked."""


@dataclass(frozen=True)
class CheckedFile:
    """A file whose names are checked."""

    world: World
    inference: Inference
    reader: ScopedFile
    tree: ast.Module
    all_nodes: tuple[ast.AST, ...]
    """Those of the tree: to walk through it takes longer than what is done with most of them."""
    guarded: set[ast.AST]
    text: str

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """The nodes that are judged."""
        return tuple(node for node in self.all_nodes if node not in self.guarded)

    @cached_property
    def lines_after(self) -> dict[Absent, list[int]]:
        """The lines, from 0, that read something of what is not there, or give it an argument by name."""
        found: dict[Absent, list[int]] = {}
        for node in self.nodes:
            if isinstance(node, ast.Attribute):
                lines, of = [(node.end_lineno or node.lineno) - 1], node.value
            elif isinstance(node, ast.Call):
                lines, of = [one.value.lineno - 1 for one in node.keywords], node.func
            else:
                continue
            for value in self.inference.values(self.reader, of) or () if lines else ():
                if isinstance(value, Absent):
                    found.setdefault(value, []).extend(lines)
        return found

    @cached_property
    def assigned(self) -> set[str]:
        """The attributes that the file assigns to something, or tells by a string."""
        stored = {
            node.attr
            for node in self.all_nodes
            if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load)
        }
        return stored | {
            node.value for node in self.all_nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)
        }


def read_checked(world: World, path: str, inference: Inference) -> CheckedFile | None:
    """Return the reading of the Python file *path*; None where it does not parse."""
    if not is_python(path) or not path.endswith(".py"):
        return None
    reader = inference.reader(path)
    if reader is None:
        return None
    tree = reader.scopes.module.node
    assert isinstance(tree, ast.Module)
    nodes = tuple(ast.walk(tree))
    return CheckedFile(world, inference, reader, tree, nodes, guarded_nodes(nodes), world.text(path))
