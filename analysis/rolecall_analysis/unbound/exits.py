"""The facts from one file on calls that do not come back and on ``with`` statements that swallow exceptions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from rolecall_analysis.grammar import CALL, CLASS, FUNCTION, IDENTIFIER, SUBSCRIPT, child_of, kind_id
from rolecall_analysis.names import dotted_name, text_of

_NEVER_RETURN = frozenset(
    {
        "exit",
        "os._exit",
        "os.abort",
        "pytest.exit",
        "pytest.fail",
        "pytest.skip",
        "pytest.xfail",
        "quit",
        "sys.exit",
        "typing.assert_never",
        "typing_extensions.assert_never",
        "_pytest.outcomes.fail",
        "_pytest.outcomes.skip",
    }
)
_NEVER_RETURN_OF_TESTS = frozenset({"self.fail", "self.skipTest"})
_SWALLOWING = frozenset({"suppress", "raises", "assertRaises", "assertRaisesRegex"})
"""`contextlib.suppress` and what test frameworks call the block that must raise."""

_ASSIGNMENT = kind_id("assignment")
_IMPORTS = frozenset({kind_id("import_statement"), kind_id("import_from_statement")})
_RAISE = kind_id("raise_statement")
_EXPRESSION = kind_id("expression_statement")
_RETURN = kind_id("return_statement")
_TRUE = kind_id("true")
_COMMENT = kind_id("comment")
_OWN_SCOPES = frozenset({FUNCTION, CLASS, kind_id("lambda")})
_LEAVING_OR_PAUSING = frozenset({_RETURN, kind_id("yield")})


@dataclass(frozen=True, slots=True)
class Exits:
    """The facts that a file tells about calls and ``with`` statements in it."""

    never_return: frozenset[str]
    """Callees, dotted as they are written in the file."""
    swallowing: frozenset[str]
    """Last parts of the names of context managers that may swallow an exception."""
    has_builtin_range: bool
    """``range`` is Python's own function of that name."""

    def never_returns(self, source: bytes, call: Node) -> bool:
        """Return whether *call* never returns."""
        function = child_of(call, "function")
        return function is not None and dotted_name(source, function)[0] in self.never_return

    def swallows(self, source: bytes, manager: Node) -> bool:
        """Return whether the ``with`` statement of *manager* may swallow an exception."""
        function = child_of(manager, "function") if manager.kind_id == CALL else None
        return function is not None and dotted_name(source, function)[0].rpartition(".")[2] in self.swallowing


def read_exits(source: bytes, root: Node) -> Exits:
    """Read the exits from the file's imports, functions and classes."""
    functions: dict[str, list[Node]] = {}
    classes: list[Node] = []
    parsers: set[str] = set()
    renamed: dict[str, str] = {}
    stack = [root]
    while stack:
        node = stack.pop()
        if node.kind_id == FUNCTION and (name := child_of(node, "name")) is not None:
            functions.setdefault(text_of(source, name), []).append(node)
        elif node.kind_id == CLASS:
            classes.append(node)
        elif node.kind_id == _ASSIGNMENT:
            parsers.update(_argument_parsers(source, node))
        elif node.kind_id in _IMPORTS:
            renamed.update(_imported_names(source, node))
        stack.extend(node.named_children)
    known = {f"{parser}.error" for parser in parsers} | {f"{parser}.exit" for parser in parsers}
    known |= _NEVER_RETURN_OF_TESTS | {
        local for local, full in renamed.items() if full in _NEVER_RETURN or full.endswith(".assert_never")
    }
    known |= {
        f"{local}{full.removeprefix(module)}"
        for local, module in renamed.items()
        for full in _NEVER_RETURN
        if full.startswith(f"{module}.")
    }
    known |= {name for name in _NEVER_RETURN if "." not in name}
    # A function that the file defines under such a name may come back: it is judged by its own code.
    known -= {name for name in known if name.rpartition(".")[2] in functions}
    return Exits(
        _with_own_functions(source, functions, known),
        _SWALLOWING | _swallowing_classes(source, classes),
        "range" not in functions.keys() | renamed.keys(),
    )


def _argument_parsers(source: bytes, assignment: Node) -> Iterator[str]:
    """Yield the name that *assignment* gives to an ``ArgumentParser``, whose ``error`` ends the program."""
    left, right = child_of(assignment, "left"), child_of(assignment, "right")
    function = child_of(right, "function") if right is not None and right.kind_id == CALL else None
    if left is not None and function is not None:
        name, rest = dotted_name(source, left)
        if rest is None and dotted_name(source, function)[0].endswith("ArgumentParser"):
            yield name


def _imported_names(source: bytes, node: Node) -> Iterator[tuple[str, str]]:
    """(local name, full name) of what an import statement binds."""
    module_node = child_of(node, "module_name")
    module = text_of(source, module_node) if module_node is not None else ""
    for child in node.named_children:
        if child == module_node:
            continue
        name = text_of(source, child_of(child, "name") or child)
        alias = child_of(child, "alias")
        local = text_of(source, alias) if alias is not None else name
        yield local, f"{module}.{name}" if module else name


def _with_own_functions(source: bytes, functions: dict[str, list[Node]], known: set[str]) -> frozenset[str]:
    """Return *known*, and the functions of the file that always end in a call of one of these, or are annotated so."""
    # A function that is found to end the way may be how another one ends.
    while True:
        found = {
            name
            for name, nodes in functions.items()
            if all(_never_returns(source, node, known) for node in nodes)
            for name in (name, f"self.{name}", f"cls.{name}")
        }
        if found <= known:
            return frozenset(known)
        known |= found


def _never_returns(source: bytes, function: Node, known: set[str]) -> bool:
    annotation = child_of(function, "return_type")
    if annotation is not None and text_of(source, annotation).strip("\"'").rpartition(".")[2] in ("NoReturn", "Never"):
        return True
    body = child_of(function, "body")
    statements = [child for child in body.named_children if child.kind_id != _COMMENT] if body is not None else []
    if body is None or not statements or any(node.kind_id in _LEAVING_OR_PAUSING for node in own_nodes(body)):
        return False
    last = statements[-1]
    if last.kind_id == _RAISE:  # what subclasses are to override is no end
        return b"NotImplemented" not in source[last.start_byte : last.end_byte] and not _is_abstract(source, function)
    call = last.named_children[0] if last.kind_id == _EXPRESSION and last.named_child_count else None
    callee = child_of(call, "function") if call is not None and call.kind_id == CALL else None
    return callee is not None and dotted_name(source, callee)[0] in known


def _is_abstract(source: bytes, function: Node) -> bool:
    around = function.parent
    # Between the two beginnings stand the decorators.
    return around is not None and b"abstract" in source[around.start_byte : function.start_byte]


def own_nodes(body: Node) -> Iterator[Node]:
    """Yield every node of a function's or class's body that is not in another one's."""
    stack = [body]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(child for child in node.named_children if child.kind_id not in _OWN_SCOPES)


def _swallowing_classes(source: bytes, classes: list[Node]) -> frozenset[str]:
    """Classes whose ``__exit__`` may say that the exception is dealt with, and those that inherit it."""
    bases: dict[str, set[str]] = {}
    found: set[str] = set()
    for node in classes:
        name, body, superclasses = (child_of(node, field) for field in ("name", "body", "superclasses"))
        if name is None or body is None:
            continue
        own = text_of(source, name)
        nodes = superclasses.named_children if superclasses is not None else []
        bases[own] = {text_of(source, base) for base in nodes if base.kind_id in (IDENTIFIER, SUBSCRIPT)}
        for child in body.named_children:
            method = child_of(child, "definition") or child
            if method.kind_id == FUNCTION and _may_swallow(source, method):
                found.add(own)
    while inheriting := {name for name, parents in bases.items() if parents & found} - found:
        found |= inheriting
    return frozenset(found)


def _may_swallow(source: bytes, method: Node) -> bool:
    name, annotation, body = (child_of(method, field) for field in ("name", "return_type", "body"))
    if name is None or body is None or text_of(source, name) not in ("__exit__", "__aexit__"):
        return False
    if annotation is not None:
        # By the custom of type checkers, only `-> bool` says that it may swallow.
        return text_of(source, annotation) == "bool"
    returns = (node for node in own_nodes(body) if node.kind_id == _RETURN)
    return any(node.named_child_count and node.named_children[0].kind_id == _TRUE for node in returns)
