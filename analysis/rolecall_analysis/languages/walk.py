"""The things found on a walk over a syntax tree: names, definitions, calls, with their places and scopes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum

from tree_sitter import Node

from rolecall_analysis.languages.above import LinesAbove
from rolecall_analysis.languages.comments import is_notice, prose
from rolecall_analysis.languages.grammar import Grammar, Link
from rolecall_analysis.languages.signatures import attribute_name, signature
from rolecall_analysis.text import CodePoints
from rolecall_analysis.values import Call, Definition, DefinitionKind, Import, Position, Span

MAX_NAME_PARTS = 32
"""A longer chain of names is told by its end."""


class Inside(Enum):
    """The kind of thing that a name bound in a scope becomes."""

    FILE = "file"
    """A definition, of a file or of a namespace."""
    TYPE = "type"
    """A definition: a member."""
    CODE = "code"
    """A local name."""


@dataclass(frozen=True, slots=True)
class WalkScope:
    """The scope in which the walk is."""

    name: str
    inside: Inside
    owner: str
    """The innermost definition around, whose header may still see *name*'s names."""

    def qualified(self, name: str) -> str:
        """Return the qualified name of *name*, defined here."""
        return f"{self.name}.{name}" if self.name else name

    def code(self) -> WalkScope:
        """Return the scope of a function without a name; its own names count as names of the scope around it."""
        return WalkScope(self.name, Inside.CODE, self.owner)


Step = tuple[Node, WalkScope]
Steps = Sequence[Step]
Handler = Callable[["Walk", Node, WalkScope], Steps]
"""Notes what a node says, and returns the nodes to go on with, in the order of the source."""

TYPE_KINDS = frozenset({"class", "interface", "type"})


@dataclass(slots=True)
class Walk:
    """A walk over a syntax tree, with what has been found so far."""

    path: str
    source: bytes
    grammar: Grammar
    columns: CodePoints
    ascii_text: str | None
    """The source as text, if a byte is a character."""
    definitions: list[Definition] = field(default_factory=list[Definition])
    imports: list[Import] = field(default_factory=list[Import])
    calls: list[Call] = field(default_factory=list[Call])
    places: dict[tuple[str, str, str], list[int]] = field(default_factory=dict[tuple[str, str, str], list[int]])
    """Lines and columns of references by (name, scope, owner)."""
    local_names: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    variables: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    more_bases: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """Bases that are told outside of a type, by its qualified name."""
    wrapper: tuple[Node, int] | None = None
    """A node that belongs to the definition in it, as ``export`` does, and the byte at which that begins."""
    above: LinesAbove = field(default_factory=LinesAbove)

    def text(self, node: Node) -> str:
        """Return the text of *node*."""
        return self.slice(node.start_byte, node.end_byte)

    def slice(self, start: int, end: int) -> str:
        """Return the text between two byte offsets."""
        if self.ascii_text is not None:
            return self.ascii_text[start:end]
        return self.source[start:end].decode("utf-8", "replace")

    def span(self, node: Node, end: Node | None = None) -> Span:
        """From the start of *node* to its end, or to that of *end*."""
        last = end or node
        if self.ascii_text is not None:
            return Span(Position(*node.start_point), Position(*last.end_point))
        return Span(self._position(node.start_byte, *node.start_point), self._position(last.end_byte, *last.end_point))

    def _position(self, byte: int, row: int, byte_column: int) -> Position:
        return Position(row, self.columns.column(byte, byte_column))

    # Names

    def chain(self, node: Node) -> tuple[list[Node], list[Node], bool]:
        """Return the nodes of *node*'s dotted name, the parts of it that are not names, and whether it begins with a
        name.

        The first list is empty if it has no name at all.
        """
        grammar = self.grammar
        parts: list[Node] = []
        rest: list[Node] = []
        begins_with_name = False
        while len(parts) < MAX_NAME_PARTS:
            kind = node.kind_id
            if kind in grammar.names:
                parts.append(node)
                return parts[::-1], rest[::-1], True
            before = None
            if kind in grammar.compounds:
                names, others = self._leaves(node)
                parts.extend(reversed(names))
                rest.extend(others)
                return parts[::-1], rest[::-1], bool(names)
            if (link := grammar.links.get(kind)) is not None:
                before = self._linked(node, link, parts, rest)
            elif (wrapped := grammar.wrappers.get(kind)) is not None:
                before = self._unwrapped(node, wrapped, rest)
            if before is None:
                break
            node = before
        rest.append(node)
        return parts[::-1], rest[::-1], begins_with_name

    def _linked(self, node: Node, link: Link, parts: list[Node], rest: list[Node]) -> Node | None:
        """Take the last name off *node*; return what stands before it."""
        for field_name in link.unless:
            if node.child_by_field_name(field_name) is not None:
                return None
        before = node.child_by_field_name(link.before) if link.before else node.named_child(0)
        name = node.child_by_field_name(link.name) if link.name else node.named_child(node.named_child_count - 1)
        if before is None or name is None:
            return None
        skipped: list[Node] = []
        wrappers = self.grammar.wrappers
        while (wrapped := wrappers.get(name.kind_id)) is not None:
            inner = self._unwrapped(name, wrapped, skipped)
            if inner is None:
                return None
            name = inner
        # Where the first child is the last one too, no name follows it.
        if name.named_child_count > 1 or (not link.name and name == before):
            return None
        parts.append(name)
        rest.extend(skipped)
        return before

    def _unwrapped(self, node: Node, wrapped: str, rest: list[Node]) -> Node | None:
        children = node.named_children
        inner = node.child_by_field_name(wrapped) if wrapped else children[0] if children else None
        if inner is not None:
            rest.extend(child for child in reversed(children) if child != inner)
        return inner

    def _leaves(self, node: Node) -> tuple[list[Node], list[Node]]:
        """Return the names in *node*, in their order, and what else is in it."""
        names: list[Node] = []
        others: list[Node] = []
        stack = [node]
        while stack:
            current = stack.pop()
            kind = current.kind_id
            if kind in self.grammar.names:
                names.append(current)
            elif kind in self.grammar.compounds:
                stack.extend(reversed(current.named_children))
            elif (wrapped := self.grammar.wrappers.get(kind)) is not None:
                inner = self._unwrapped(current, wrapped, others)
                if inner is not None:
                    stack.append(inner)
            else:
                others.append(current)
        return names[-MAX_NAME_PARTS:], others

    def fields(self, node: Node, name: str) -> list[Node]:
        """Return the children of *node* in the field *name*, without the commas between them."""
        return [child for child in node.children_by_field_name(name) if child.is_named]

    def dotted(self, node: Node | None) -> str:
        """Return the dotted name of *node*; empty if it has none, or does not begin with one."""
        if node is None:
            return ""
        parts, _, begins_with_name = self.chain(node)
        return ".".join(map(self.text, parts)) if begins_with_name else ""

    def names_under(self, node: Node | None, skipped: frozenset[str] = frozenset()) -> list[str]:
        """Return the dotted names in *node*, as those in a list of bases; type arguments are no bases."""
        grammar = self.grammar
        named = (grammar.names, grammar.links, grammar.compounds, grammar.wrappers)
        found: list[str] = []
        stack = [node] if node is not None else []
        while stack:
            current = stack.pop()
            if any(current.kind_id in kinds for kinds in named):
                if name := self.dotted(current):
                    found.append(name)
            elif current.type not in skipped:
                stack.extend(reversed(current.named_children))
        return found

    # What is read

    def refer_plain(self, node: Node, scope: WalkScope) -> Steps:
        """Note that the name that *node* is, without anything before or after it, is read."""
        if self.ascii_text is None:
            self.refer([node], True, scope)
            return ()
        key = (self.ascii_text[node.start_byte : node.end_byte], scope.name, scope.owner)
        places = self.places.get(key)
        if places is None:
            self.places[key] = [*node.start_point]
        else:
            places += node.start_point
        return ()

    def refer(self, parts: list[Node], begins_with_name: bool, scope: WalkScope) -> str:
        """Note that a name is read; return it, dotted."""
        if len(parts) == 1:
            name = self.slice(parts[0].start_byte, parts[0].end_byte)
        else:
            name = ".".join([self.slice(part.start_byte, part.end_byte) for part in parts])
        if not begins_with_name:
            name = f"?.{name}"
            parts = [parts[0], *parts]
        places = self.places.setdefault((name, scope.name, scope.owner), [])
        if self.columns.continuation_bytes:
            for part in parts:
                row, byte_column = part.start_point
                places += (row, self.columns.column(part.start_byte, byte_column))
        else:
            for part in parts:
                places += part.start_point
        return name

    def read(self, node: Node, scope: WalkScope) -> list[Step]:
        """Note the name that *node* is, if it has one; return what is left of it."""
        parts, rest, begins_with_name = self.chain(node)
        if parts:
            self.refer(parts, begins_with_name, scope)
            return [(part, scope) for part in rest]
        return [(child, scope) for child in node.named_children]

    def call(self, node: Node, callee: Node, scope: WalkScope) -> list[Step]:
        """Note that *node* calls *callee*; return what is left of the callee."""
        if callee.kind_id in self.grammar.names:
            self.note_call([callee], node, node, scope)
            return []
        parts, rest, begins_with_name = self.chain(callee)
        if not parts:
            return [(callee, scope)]
        name = self.refer(parts, begins_with_name, scope)
        self.calls.append(Call(name, self.span(node), scope.name))
        return [(part, scope) for part in rest]

    def note_call(self, parts: list[Node], start: Node, end: Node, scope: WalkScope) -> None:
        """Note a call of the name that *parts* make, from *start* to *end*."""
        self.calls.append(Call(self.refer(parts, True, scope), self.span(start, end), scope.name))

    def note_named_call(self, callee: str, node: Node, scope: WalkScope) -> None:
        """Note that *node* calls *callee*, which has been referred to."""
        self.calls.append(Call(callee, self.span(node), scope.name))

    def call_member(self, node: Node, before: Node | None, name: Node, scope: WalkScope) -> list[Step]:
        """Note that *node* calls the member *name* of *before*; return what is left of that."""
        parts, rest, begins_with_name = self.chain(before) if before is not None else ([], [], True)
        if before is not None and not parts:
            rest = [before]
        callee = self.refer([*parts, name], begins_with_name, scope)
        self.calls.append(Call(callee, self.span(node), scope.name))
        return [(part, scope) for part in rest]

    def note_import(
        self, statement: Node, named: Node, scope: WalkScope, module: str, name: str | None, *, alias: str | None = None
    ) -> None:
        """Note an import; *named* is the node that names what is imported."""
        self.imports.append(Import(module, name, alias, 0, scope.name, self.span(statement), self.span(named)))

    # What is bound

    def bind(self, name: str, scope: WalkScope) -> None:
        """*name* is a parameter or a variable of *scope* whose value is not known."""
        self.local_names.add((scope.name, name))

    def bind_pattern(self, pattern: Node, scope: WalkScope, whole: Node | None = None) -> list[Step]:
        """Bind every name of *pattern*, or define it if the scope is not code; return what the pattern reads."""
        grammar = self.grammar
        steps: list[Step] = []
        stack = [pattern]
        while stack:
            node = stack.pop()
            kind = node.kind_id
            if kind in grammar.bound and not (grammar.reading.capitals_are_read and self.text(node)[:1].isupper()):
                self.bind_or_define(node, scope, whole or pattern)
            elif (fields := grammar.patterns.get(kind)) is not None:
                read = [child for name in fields for child in self.fields(node, name)]
                steps.extend((child, scope) for child in read)
                stack.extend(child for child in reversed(node.named_children) if child not in read)
            else:
                steps.append((node, scope))
        return steps

    def bind_or_define(self, name: Node, scope: WalkScope, whole: Node) -> None:
        """A local name in code; elsewhere the definition of a variable, told once."""
        text = self.text(name)
        if scope.inside is Inside.CODE:
            self.bind(text, scope)
        elif (scope.name, text) not in self.variables:
            self.variables.add((scope.name, text))
            self.define("variable", name, whole, scope)

    # What is defined

    def define(
        self,
        kind: DefinitionKind,
        name: Node,
        whole: Node,
        scope: WalkScope,
        *,
        body: Node | None = None,
        bases: Sequence[str] = (),
        text: str | None = None,
    ) -> WalkScope:
        """Note a definition; return the scope of its body.

        *whole* is the node that is all of it, *body* what its signature leaves out; *text* its name, if that
        is not the text of *name*.
        """
        named = self.text(name) if text is None else text
        if not named:  # the parser supplied a name that is missing
            return scope.code()
        qualified_name = scope.qualified(named)
        start = self._start_of(whole)
        above = self.above.take(start)
        attributes = above.attributes
        if self.grammar.attributes:
            inside = [*self._attributes_in(start, name), *(self._attributes_in(whole, name) if start != whole else ())]
            attributes = [*attributes, *(one for one in inside if one not in attributes)]
        self.definitions.append(
            Definition(
                path=self.path,
                name=named,
                qualified_name=qualified_name,
                kind=kind,
                signature=signature(self.slice, kind, start, whole, body=body, attributes=attributes),
                docstring=prose(map(self.text, above.comments)) if above.comments else "",
                decorators=tuple(attribute_name(self.text(attribute)) for attribute in attributes),
                bases=tuple(bases),
                span=self.span(above.attributes[0] if above.attributes else start, end=start),
                name_span=self.span(name),
                scope=scope.name,
            )
        )
        names_in_it = Inside.TYPE if kind in TYPE_KINDS else Inside.FILE if kind == "module" else Inside.CODE
        return WalkScope(qualified_name, names_in_it, qualified_name)

    def _start_of(self, whole: Node) -> Node:
        if self.wrapper is not None and self.wrapper[1] == whole.start_byte:
            wrapper, self.wrapper = self.wrapper[0], None
            return wrapper
        return whole

    def _attributes_in(self, node: Node, name: Node) -> list[Node]:
        grammar = self.grammar
        found: list[Node] = []
        for child in node.named_children:
            if child.start_byte >= name.start_byte:
                break
            if child.kind_id in grammar.attribute_lists:
                found.extend(one for one in child.named_children if one.kind_id in grammar.attributes)
            elif child.kind_id in grammar.attributes:
                found.append(child)
        return found

    def note_above(self, node: Node, *, is_attribute: bool) -> None:
        """Note a comment or an attribute that may belong to the definition below it."""
        begin = node.start_byte
        before = self.source[begin - node.start_point[1] : begin]
        is_first = not self.definitions and not self.imports
        self.above.note(node, before, is_attribute=is_attribute, is_first=is_first)

    def docstring(self) -> str:
        """Return the text of the comment at the top of the file, unless it is about a definition, a tool or
        the owner.
        """
        # Before the comment on the file there may be a notice of its owner, and one for a tool.
        texts = (prose(map(self.text, one.comments)) for one in self.above.first[:3] if one.comments)
        return next((text for text in texts if text and not is_notice(text)), "")
