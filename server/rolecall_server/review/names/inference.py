"""The values of expressions: followed through imports, assignments, calls and annotations, in any file of the world.

An expression of which one possible value is not known has none that are known.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field, replace
from functools import partial

from rolecall_analysis import Definition, Import
from rolecall_analysis.installed.classes import class_member, followed, lineage_of
from rolecall_analysis.installed.search_path import CodeModule
from rolecall_analysis.installed.world import Held, World
from rolecall_server.python_trees import parse_python
from rolecall_server.review.names.annotations import Annotations, is_plain_decorator_of, signature_of
from rolecall_server.review.names.scopes import Binding, NameScope, Scopes, scopes_of
from rolecall_server.review.names.values import Absent, FunctionOf, Holding, HoldingWay, Known, ObjectOf, Values, united

_MOST_DEPTH = 24
_MOST_BODIES = 6
"""The number of functions without an annotation whose bodies are read, one from another."""


@dataclass
class ScopedFile:
    """The reading of one file."""

    module: CodeModule
    scopes: Scopes


@dataclass
class Inference:
    """The values of expressions in the files of *world*, as far as they were asked for."""

    world: World
    _readers: dict[str, ScopedFile | None] = field(default_factory=dict[str, "ScopedFile | None"])
    _known: dict[tuple[str, ast.AST], Values] = field(default_factory=dict[tuple[str, ast.AST], Values])
    _under_way: set[object] = field(default_factory=set[object])
    _n_bodies: int = 0
    _n_cuts: int = 0
    """The number of times that an expression was not followed because it was being followed already, or too deep."""

    def reader(self, path: str) -> ScopedFile | None:
        """Return the reading of the file *path*; None where it does not parse."""
        if path not in self._readers:
            try:
                tree = parse_python(self.world.text(path))
                self._readers[path] = ScopedFile(self.world.module_at(path), scopes_of(tree))
            # Python raises one of the last two where code is nested too deep.
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                self._readers[path] = None
        return self._readers[path]

    def values(self, reader: ScopedFile, node: ast.expr) -> Values:
        """Return the values of the expression *node* in the file of *reader*."""
        key = reader.module.path, node
        if key not in self._known:
            if key in self._under_way or len(self._under_way) > _MOST_DEPTH:
                self._n_cuts += 1
                return None
            self._under_way.add(key)
            n_cuts = self._n_cuts
            try:
                found = self._values(reader, node)
            finally:
                self._under_way.discard(key)
            # None may only mean that something around this expression is being followed already.
            if self._under_way and found is None and self._n_cuts > n_cuts:
                return found  # it may be known when it is asked for by itself
            self._known[key] = found
        return self._known[key]

    def _values(self, reader: ScopedFile, node: ast.expr) -> Values:
        found: Values = None
        match node:
            case ast.Name(id=name):
                found = self._of_name(reader, reader.scopes.of.get(node), name)
            case ast.Attribute(value=holder, attr=name):
                holders = self.values(reader, holder)
                found = self.member(holders, name)
                if found is None and holders and all(map(partial(self._has_not, name), holders)):
                    found = (Absent(reader.module.path, (node.end_lineno or node.lineno) - 1, name),)
            case ast.Call(func=called):
                found = self._of_call(reader, node, called)
            case ast.Await(value=inner):
                found = held(self.values(reader, inner), "awaited")
            case ast.IfExp(body=one, orelse=other) | ast.BoolOp(values=[one, other]):
                found = united([self.values(reader, each) for each in (one, other) if not _is_none(each)])
            case ast.NamedExpr(value=inner):
                found = self.values(reader, inner)
            case _:
                pass
        return found

    def member(self, holders: Values, name: str) -> Values:
        """Return the values of the attribute *name* of *holders*."""
        if holders is None:
            return None
        return united([self._member(one, name) for one in holders])

    def held_by(self, holder: Known, name: str) -> Held | None:
        """Return what *holder* has under *name*; None for what has no text of its own."""
        match holder:
            case CodeModule():
                return self.world.member(holder, name)
            case Definition(kind="class"):
                return class_member(self.world, holder, name)
            case ObjectOf(definition=definition):
                return class_member(self.world, definition, name)
            case _:
                return None

    def called(self, callee: Known) -> Values:
        """Return what a call of *callee* gives."""
        match callee:
            case Definition(kind="class"):
                return self._constructed(callee)
            case FunctionOf():
                return self._returned(callee)
            case Absent():
                return (callee,)
            case _:
                return None

    def _has_not(self, name: str, holder: Known) -> bool:
        found = self.held_by(holder, name)
        return found is not None and found.is_missing

    def _member(self, holder: Known, name: str) -> Values:
        if isinstance(holder, Absent):
            return (holder,)
        found = self.held_by(holder, name)
        if found is None or not found.is_all or not found.things:
            return None
        found = followed(self.world, found)
        receiver = holder if isinstance(holder, ObjectOf | Definition) else None
        return united([self._thing(one, receiver) for one in found.things])

    def _thing(self, thing: Definition | CodeModule, receiver: ObjectOf | Definition | None) -> Values:
        """Return the values of what a name is bound to, read from *receiver*."""
        if isinstance(thing, CodeModule) or thing.kind == "class":
            return (thing,)
        if thing.kind == "variable":
            return self._variable(thing, receiver)
        function = FunctionOf(thing, receiver)
        if not thing.is_property:
            return (function,)
        return self._returned(function) if isinstance(receiver, ObjectOf) else None

    def _variable(self, variable: Definition, receiver: ObjectOf | Definition | None) -> Values:
        """Return the values of a variable of a module or class by its annotation, or by all that its scope assigns."""
        key = "variable", variable.path, variable.qualified_name
        if key in self._under_way or len(self._under_way) > _MOST_DEPTH:
            self._n_cuts += 1
            return None
        self._under_way.add(key)
        try:
            if variable.signature.startswith("self."):
                return self._attribute(variable)
            reader = self.reader(variable.path)
            scope = _scope_named(reader, variable.scope) if reader is not None else None
            if reader is None or scope is None or (variable.scope and isinstance(receiver, ObjectOf)):
                return self._annotated(variable)
            return self._bound(reader, scope, variable.name)
        finally:
            self._under_way.discard(key)

    def _annotated(self, variable: Definition) -> Values:
        module = self.world.module_at(variable.path)
        statement = _statement(variable.signature)
        if not isinstance(statement, ast.AnnAssign) or statement.value is not None:
            return None
        return Annotations(self.world, module, variable.scope).values(statement.annotation)

    def _attribute(self, variable: Definition) -> Values:
        """Return the values of ``self.name``, by its annotation or by all that is assigned to it."""
        statement = _statement(variable.signature)
        if isinstance(statement, ast.AnnAssign):
            module = self.world.module_at(variable.path)
            return Annotations(self.world, module, variable.scope).values(statement.annotation)
        reader = self.reader(variable.path)
        assigned = reader.scopes.assigned_to_self.get((variable.scope, variable.name)) if reader is not None else None
        if reader is None or assigned is None or variable.name in reader.scopes.assigned_elsewhere:
            return None
        found = united([self.values(reader, one) for one in assigned if not _is_none(one)])
        # An object of a subclass may have another.
        return tuple(replace(one, is_exact=False) if isinstance(one, ObjectOf) else one for one in found or ()) or None

    def _of_name(self, reader: ScopedFile, scope: NameScope | None, name: str) -> Values:
        for outer in scope.outwards() if scope is not None else ():
            if name in outer.elsewhere:
                return None
            if name in outer.bindings:
                return self._bound(reader, outer, name)
        held = self.world.member(reader.module, name)
        if not held.is_all or not held.things:
            return None
        return united([self._thing(one, None) for one in followed(self.world, held).things])

    def _bound(self, reader: ScopedFile, scope: NameScope, name: str) -> Values:
        """Return the values of *name*, which *scope* binds, whichever of its bindings is the last."""
        if name in reader.scopes.declared:
            return None
        bindings = scope.bindings[name]
        if name in scope.checked:
            return None
        given = [one for one in bindings if not (one.kind == "value" and _is_none(one.node))]
        return united([self._of_binding(reader, scope, name, one) for one in given]) if given else None

    def _of_binding(self, reader: ScopedFile, scope: NameScope, name: str, binding: Binding) -> Values:
        found: Values = None
        match binding.kind, binding.node:
            case "import", _:
                found = self._imported(reader, scope, name)
            case "definition", node:
                found = self._defined(reader, scope, name, node)
            case "value", ast.expr() as node:
                found = self.values(reader, node)
            case "annotated", ast.expr() as node if binding.note is not None:
                found = self._declared(reader, scope, node, binding.note)
            case "parameter", node:
                found = self._parameter(reader, scope, node, binding.note)
            case "item", ast.expr() as node:
                found = held_items(self, reader, node)
            case "entered", ast.expr() as node:
                found = self._entered(reader, node)
            case "caught", ast.expr() as node:
                found = self._caught(reader, node)
            case _:
                pass
        return found

    def _imported(self, reader: ScopedFile, scope: NameScope, name: str) -> Values:
        imports = self.world.facts(reader.module.path).imports_by_name.get((_in_graph(scope), name), ())
        held = [self.world.imported(reader.module, one) for one in imports]
        if len(imports) == 1 and self._lacks_source(reader, imports[0]):
            return (Absent(reader.module.path, imports[0].name_span.start.line, imports[0].name or ""),)
        if not held or not all(one.is_all and one.things for one in held):
            return None
        found = followed(self.world, Held(tuple(thing for one in held for thing in one.things)))
        return united([self._thing(one, None) for one in found.things]) if found.is_all else None

    def _declared(self, reader: ScopedFile, scope: NameScope, node: ast.expr, note: ast.expr) -> Values:
        """Return what an annotated assignment gives: what is seen to be made, else what the annotation says."""
        said = Annotations(self.world, reader.module, _in_graph(scope)).values(note)
        if node is note or _is_none(node):
            return said
        made = self.values(reader, node)
        if made is not None and all(isinstance(one, ObjectOf) and one.is_exact for one in made):
            return made
        # A stand-in of another class may be annotated as what it stands for.
        return said if not isinstance(node, ast.Call) or made == said else None

    def _lacks_source(self, reader: ScopedFile, one: Import) -> bool:
        source = self.world.find(reader.module, one.module, one.level) if one.name is not None else None
        return source is not None and self.world.member(source, one.name or "").is_missing

    def _defined(self, reader: ScopedFile, scope: NameScope, name: str, node: ast.AST) -> Values:
        facts = self.world.facts(reader.module.path)
        definitions = facts.definitions_by_name.get((_in_graph(scope), name), ())
        for one in getattr(node, "decorator_list", ()):
            given = self.values(reader, one)
            if given is not None and any(isinstance(each, Absent) for each in given):
                return given
        # The graph has a definition begin with its first decorator, Python's tree with `def`.
        line = min((one.lineno for one in getattr(node, "decorator_list", ())), default=getattr(node, "lineno", 0)) - 1
        found = [one for one in definitions if one.span.start.line == line and one.kind != "variable"]
        return united([self._thing(one, None) for one in found]) if found else None

    def _parameter(self, reader: ScopedFile, scope: NameScope, node: ast.AST, note: ast.expr | None) -> Values:
        function = scope.node
        if note is not None:
            return Annotations(self.world, reader.module, _in_graph(scope.parent)).values(note)
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) or scope.parent is None:
            return None
        first = next(iter((*function.args.posonlyargs, *function.args.args)), None)
        owner = self._class_around(reader, scope)
        if owner is None or first is not node or function.name == "__new__":
            return None
        decorators = {ast.unparse(one) for one in function.decorator_list}
        if "staticmethod" in decorators:
            return None
        is_class = "classmethod" in decorators or function.name in ("__init_subclass__", "__class_getitem__")
        return (owner,) if is_class else (ObjectOf(owner, is_exact=False),)

    def _class_around(self, reader: ScopedFile, scope: NameScope) -> Definition | None:
        around = scope.parent
        if around is None or not around.is_class or around.parent is None:
            return None
        found = self._defined(reader, around.parent, getattr(around.node, "name", ""), around.node)
        return found[0] if found is not None and isinstance(found[0], Definition) else None

    def _of_call(self, reader: ScopedFile, node: ast.Call, called: ast.expr) -> Values:
        if isinstance(called, ast.Name) and called.id == "super" and not node.args:
            return None
        callees = self.values(reader, called)
        return united([self.called(one) for one in callees]) if callees is not None else None

    def _constructed(self, definition: Definition) -> Values:
        found = lineage_of(self.world, definition)
        # A metaclass, as `__new__` below, may give something else than an object of exactly this class.
        if any(key == "metaclass" for _, one in found.classes for key in _keywords(one)):
            return (ObjectOf(definition, is_exact=False),)
        makes_others = any((one.qualified_name, "__new__") in facts.definitions_by_name for facts, one in found.classes)
        return (ObjectOf(definition, is_exact=not makes_others and found.is_whole),)

    def _returned(self, callee: FunctionOf) -> Values:
        """Return what a call of the function gives, by its annotation, else by its body."""
        definition = callee.definition
        facts = self.world.facts(definition.path)
        if not all(is_plain_decorator_of(facts, one) for one in definition.decorators):
            return None
        signature = signature_of(definition)
        if signature is None:
            return None
        module = self.world.module_at(definition.path)
        if signature.returns is not None:
            place = Annotations(self.world, module, definition.scope, callee.receiver, signature)
            found = place.values(signature.returns)
        else:
            found = self._by_body(definition)
        # An asynchronous generator is annotated as what it is, and is iterated, not awaited.
        if isinstance(signature, ast.AsyncFunctionDef) and not _gives_items(found):
            found = (Holding("awaited", found),) if found is not None else None
        if any("contextmanager" in one for one in definition.decorators):
            return (Holding("entered", held(found, "items")),) if found is not None else None
        return found

    def _by_body(self, definition: Definition) -> Values:
        """Return what a function without an annotation gives: all that its return statements do."""
        key = "body", definition.path, definition.qualified_name
        reader = self.reader(definition.path)
        scope = _scope_named(reader, definition.qualified_name) if reader is not None else None
        if reader is None or scope is None:
            return None
        if key in self._under_way or self._n_bodies >= _MOST_BODIES:
            self._n_cuts += 1
            return None
        if definition.kind == "method" and not definition.decorators and not isinstance(scope.node, ast.FunctionDef):
            return None
        self._under_way.add(key)
        self._n_bodies += 1
        try:
            own = reader.scopes.given_back.get(scope, [])
            if any(isinstance(node, ast.Yield | ast.YieldFrom) for node in own):
                return None
            given = [node.value for node in own if isinstance(node, ast.Return)]
            values = [self.values(reader, one) for one in given if one is not None and not _is_none(one)]
            return united(values) if values else None
        finally:
            self._n_bodies -= 1
            self._under_way.discard(key)

    def _caught(self, reader: ScopedFile, node: ast.expr) -> Values:
        """Return the exceptions that a handler for the classes in *node* is given."""
        given = united([self.values(reader, one) for one in (node.elts if isinstance(node, ast.Tuple) else [node])])
        return tuple(ObjectOf(o, is_exact=False) if isinstance(o, Definition) else o for o in given) if given else None

    def _entered(self, reader: ScopedFile, node: ast.expr) -> Values:
        values = self.values(reader, node)
        if values is None:
            return None
        return united([self._entering(one) for one in values])

    def _entering(self, value: Known) -> Values:
        if isinstance(value, Holding):
            return value.values if value.way == "entered" else None
        if isinstance(value, Absent):
            return (value,)
        if not isinstance(value, ObjectOf):
            return None
        for name in ("__enter__", "__aenter__"):
            found = class_member(self.world, value.definition, name)
            if found.is_all and found.things:
                given = united([self._thing(one, value) for one in found.things])
                results = united([self.called(one) for one in given]) if given is not None else None
                return results if name == "__enter__" else held(results, "awaited")
        return None


def held(values: Values, way: HoldingWay) -> Values:
    """Return what *values* give in that *way*; None where one of them gives nothing that is known."""
    if values is None:
        return None
    return united([_held(one, way) for one in values])


def _held(value: Known, way: HoldingWay) -> Values:
    if isinstance(value, Absent):
        return (value,)
    return value.values if isinstance(value, Holding) and value.way == way else None


def held_items(inference: Inference, reader: ScopedFile, node: ast.expr) -> Values:
    """Return the values that iterating over *node* gives; of a list that is written out, its elements'."""
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        return united([inference.values(reader, one) for one in node.elts]) if node.elts else None
    return held(inference.values(reader, node), "items")


def _gives_items(values: Values) -> bool:
    return values is not None and all(isinstance(one, Holding) and one.way == "items" for one in values)


def _keywords(definition: Definition) -> list[str]:
    statement = _statement(f"{definition.signature}: ...")
    return [one.arg or "" for one in statement.keywords] if isinstance(statement, ast.ClassDef) else []


def _statement(text: str) -> ast.stmt | None:
    try:
        body = parse_python(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return body[0] if len(body) == 1 else None


def _scope_named(reader: ScopedFile | None, qualified_name: str) -> NameScope | None:
    if reader is None:
        return None
    found = reader.scopes.named.get(qualified_name, [])
    return found[0] if len(found) == 1 else None


def _in_graph(scope: NameScope | None) -> str:
    """Return the name that the code graph has for *scope*."""
    return scope.qualified_name if scope is not None else ""


def _is_none(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
