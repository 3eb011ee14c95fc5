"""The parts of a parameter that the code reads: keys, attributes, items and answers of methods, with their own parts.

``response.get("status") == "OK"`` tells of *response* that it has a key ``status``, which may be ``"OK"``.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from keyword import iskeyword

from rolecall_server.craft.characterization.inputs.survey import AnyFunction, CallTarget, imports_in, last_name
from rolecall_server.craft.characterization.inputs.text_forms import form_read_by
from rolecall_server.craft.characterization.inputs.usage.likely_types import treated_as

_MAX_CALLS_DEEP = 2
"""So many calls away from the target a part is still followed."""
_GETTERS = ("get", "pop", "setdefault")
_OF_NUMBERS = ("int", "float", "abs", "round", "range")
_SAME_ITEMS = ("list", "tuple", "sorted", "set", "iter", "reversed", "enumerate")
_FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(eq=False)
class Shape:
    """The parts of a value that the code reads, and what it compares the value itself with."""

    keys: dict[str, Shape] = field(default_factory=dict[str, "Shape"])
    optional: set[str] = field(default_factory=set[str])
    """The keys that may be missing."""
    attributes: dict[str, Shape] = field(default_factory=dict[str, "Shape"])
    answers: dict[str, Shape] = field(default_factory=dict[str, "Shape"])
    """The values that its methods return; under no name the one that it returns itself."""
    awaited: set[str] = field(default_factory=set[str])
    """The names of the answers that are awaited."""
    plain_methods: set[str] = field(default_factory=set[str])
    """The methods that are called which plain values have too."""
    items: list[Shape] = field(default_factory=list["Shape"])
    """The shape of each of its items; at most one, as all have the same."""
    compared: list[str] = field(default_factory=list[str])
    """The literals that it is compared with."""
    types: list[str] = field(default_factory=list[str])
    """The names of the plain types that it is treated as, and of the forms that functions read of it."""

    @property
    def has_parts(self) -> bool:
        """Return whether more is read than the value itself."""
        return bool(self.keys or self.attributes or self.answers or self.items)

    @property
    def item(self) -> Shape:
        """Return the shape of its items, which from now on it has."""
        if not self.items:
            self.items.append(Shape())
        return self.items[0]


@lru_cache(maxsize=512)
def shapes_of(tree: ast.Module, target: CallTarget, names: tuple[str, ...] = ()) -> Mapping[str, Shape]:
    """Return the shapes of the parameters of *target*, which stands in the module *tree*, by their names: those of a
    class also as its methods read them. Then those of what *names* of the module stand for, as *target* uses them.
    """
    methods = methods_of(target.owner, {node.name: node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)})
    functions = {**_functions_in(tree.body), **{f"self.{name}": node for name, node in methods.items()}}
    others = {name: Shape() for name in names}
    texts = _ModuleTexts(functions, tables_in(tree), dict(imports_in(list(ast.walk(tree)))), others)
    known = {one.name: Shape() for one in target.parameters}
    if not isinstance(target.node, ast.ClassDef):
        _PartReader(texts, known | {"self": Shape()}, frozenset([target.node])).read(target.node.body)
        return others | known
    # Without a constructor of its own it has the fields that it is built of.
    this = Shape() if "__init__" in methods else Shape(attributes=dict(known))
    for method in (methods.pop("__init__", None), *methods.values()):
        if method is not None:
            here = known | {"self": this} if method.name == "__init__" else {"self": this}
            _PartReader(texts, here, frozenset([method])).read(method.body)
    return others | known


def tables_in(tree: ast.Module) -> dict[str, list[str]]:
    """Return the literals that are keys or members of each container that a name of the module is bound to."""
    return {
        name: keys
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None
        for name in map(last_name, node.targets if isinstance(node, ast.Assign) else [node.target])
        if name and (keys := _literals_of(node.value))
    }


def _literals_of(container: ast.expr) -> list[str]:
    """Return the literals that are keys or members of a *container* that is written out."""
    match container:
        case ast.Dict(keys=members) | ast.Set(elts=members) | ast.List(elts=members) | ast.Tuple(elts=members):
            return [ast.unparse(one) for one in members if isinstance(one, ast.Constant)]
        case ast.Call(func=ast.Name(id="frozenset" | "set" | "dict" | "tuple" | "OrderedDict"), args=[only]):
            return _literals_of(only)
        case _:
            return []


@dataclass(frozen=True)
class _ModuleTexts:
    """The parts of a module that a reader follows, by the names that stand for them."""

    functions: Mapping[str, AnyFunction]
    """Those that may be called; methods as ``self.name``."""
    tables: Mapping[str, Sequence[str]]
    """The keys or members of containers."""
    imported: Mapping[str, str]
    """Dotted names."""
    names: Mapping[str, Shape]
    """The shapes of what names of the module stand for."""


def methods_of(name: str, classes: Mapping[str, ast.ClassDef]) -> dict[str, AnyFunction]:
    """Return the methods of a class, with those that it has from other *classes* of the module."""
    node = classes.get(name)
    if node is None:
        return {}
    others = {one: each for one, each in classes.items() if one != name}
    inherited = [methods_of(last_name(base), others) for base in node.bases]
    return {**{one: method for each in inherited[::-1] for one, method in each.items()}, **_functions_in(node.body)}


def _functions_in(body: Sequence[ast.stmt]) -> dict[str, AnyFunction]:
    return {node.name: node for node in body if isinstance(node, _FUNCTION)}


class _PartReader(ast.NodeVisitor):
    """Reads a function in the order of its text, and notes the parts of what it knows."""

    def __init__(self, module: _ModuleTexts, known: Mapping[str, Shape], inside: frozenset[AnyFunction]) -> None:
        self.module = module
        self.functions = dict(module.functions)
        """With those of the function that is read."""
        self.known = dict(known)
        self.inside = inside

    def read(self, body: Sequence[ast.stmt]) -> None:
        for node in body:
            self.visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        self.generic_visit(node)
        for target in node.targets:
            self._bind(target, self._of(node.value))

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self.generic_visit(node)
        if node.value is not None:
            self._bind(node.target, self._of(node.value))

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self.generic_visit(node)
        self._bind(node.target, self._of(node.value))

    def visit_For(self, node: ast.For) -> None:
        self.visit(node.iter)
        self._bind_item(node.target, node.iter)
        self.read([*node.body, *node.orelse])

    def visit_ListComp(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> None:
        # Its element stands before what binds the names in it.
        for each in node.generators:
            self.visit(each.iter)
            self._bind_item(each.target, each.iter)
        self.generic_visit(node)

    visit_SetComp = visit_GeneratorExp = visit_DictComp = visit_ListComp  # noqa: N815 - the names are given

    def visit_With(self, node: ast.With) -> None:
        for item in node.items:
            self.visit(item.context_expr)
            if item.optional_vars is not None:
                shape = self._of(item.context_expr)
                entered = None if shape is None else shape.answers.setdefault("__enter__", Shape())
                self._bind(item.optional_vars, entered)
        self.read(node.body)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self.functions[node.name] = node

    def visit_If(self, node: ast.If | ast.IfExp | ast.While) -> None:
        self._ask(node.test)
        self.generic_visit(node)

    visit_IfExp = visit_While = visit_If  # noqa: N815 - as above

    def visit_Compare(self, node: ast.Compare) -> None:
        self.generic_visit(node)
        for left, sign, right in zip([node.left, *node.comparators], node.ops, node.comparators, strict=False):
            if isinstance(sign, ast.In | ast.NotIn) and isinstance(left, ast.Constant):
                self._note_member(left, right)
            else:
                self._note_compared(left, sign, right)
                self._note_compared(right, sign, left)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        self._of(node)
        self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        self._of(node)
        self._note_key(node.slice, node.value)
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        # A method that is called is no attribute that is read.
        function = node.func.value if isinstance(node.func, ast.Attribute) else node.func
        for part in (function, *node.args, *node.keywords):
            self.visit(part)
        if isinstance(node.func, ast.Attribute) and node.func.attr in _GETTERS and node.args:
            self._note_key(node.args[0], node.func.value)
        if node.args and (form := form_read_by(node.func, self.module.imported)):
            self._note_form(node.args[0], form)
        match node.func:
            case ast.Name(id="isinstance") if len(node.args) == 2 and (shape := self._of(node.args[0])):
                kinds = node.args[1].elts if isinstance(node.args[1], ast.Tuple) else [node.args[1]]
                shape.types += [name for kind in kinds if (name := last_name(kind))]
            case ast.Name(id=name) if name in _OF_NUMBERS and node.args and (shape := self._of(node.args[0])):
                shape.types.append("int")
            case ast.Attribute(value=value, attr=method) if (shape := self._of(value)) and (
                plain := treated_as(method)
            ):
                shape.types += plain
                shape.plain_methods.add(method)
            case _:
                self._of(node)
                self._follow(node)

    def visit_Await(self, node: ast.Await) -> None:
        match node.value:
            case ast.Call(func=ast.Attribute(value=value, attr=method)) if shape := self._of(value):
                if self._of(node.value) is not None:
                    shape.awaited.add(method)
            case ast.Call(func=ast.Name(id=name)) if name in self.module.names:
                self.module.names[name].awaited.add("")
            case _:
                pass
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        self.generic_visit(node)
        is_sum = isinstance(node.op, ast.Add) and any(map(_is_number, (node.left, node.right)))
        if is_sum or isinstance(node.op, ast.Sub | ast.Mult | ast.Div | ast.FloorDiv):
            for shape in filter(None, map(self._of, (node.left, node.right))):
                shape.types.append("int")

    def _ask(self, test: ast.expr) -> None:
        """Note that a value is asked whether it is true."""
        match test:
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                self._ask(operand)
            case ast.BoolOp(values=values):
                for one in values:
                    self._ask(one)
            case ast.Name() | ast.Attribute() | ast.Subscript() | ast.Call():
                if shape := self._of(test):
                    shape.types.append("bool")
            case _:
                pass

    def _note_compared(self, one: ast.expr, sign: ast.cmpop, other: ast.expr) -> None:
        shape = self._of(one)
        if shape is None:
            return
        if isinstance(sign, ast.Lt | ast.LtE | ast.Gt | ast.GtE):
            shape.types.append("int")
        if isinstance(sign, ast.In | ast.NotIn):
            shape.compared += _literals_of(other) or self.module.tables.get(last_name(other), ())
        elif isinstance(other, ast.Constant):
            shape.compared.append(ast.unparse(other))

    def _note_key(self, key: ast.expr, table: ast.expr) -> None:
        """Note that a value is looked up in a *table* of the module, or in one that is written out."""
        if (keys := _literals_of(table) or self.module.tables.get(last_name(table), ())) and (shape := self._of(key)):
            shape.compared += keys

    def _note_form(self, text: ast.expr, form: str) -> None:
        """Note that a *text* is read in a *form*, as it is or after a function such as ``strip`` made it."""
        shape = self._of(text)
        if shape is not None:
            shape.types.append(form)
        elif isinstance(text, ast.Call) and isinstance(text.func, ast.Attribute):
            self._note_form(text.func.value, form)
        elif isinstance(text, ast.Call) and text.args:
            self._note_form(text.args[0], form)

    def _note_member(self, left: ast.Constant, right: ast.expr) -> None:
        shape = self._of(right)
        if shape is None:
            return
        if isinstance(left.value, str) and not shape.items:
            shape.keys.setdefault(left.value, Shape())
            shape.optional.add(left.value)
        else:
            shape.item.compared.append(ast.unparse(left))

    def _follow(self, call: ast.Call) -> None:
        """Read the function of the module that is called, if it is given something of which parts are read."""
        name = ast.unparse(call.func) if isinstance(call.func, ast.Name | ast.Attribute) else ""
        function = self.functions.get(name)
        if function is None or function in self.inside or len(self.inside) > _MAX_CALLS_DEEP:
            return
        names = [one.arg for one in function.args.args][1 if name.startswith("self.") else 0 :]
        pairs = [*zip(names, call.args, strict=False), *((word.arg or "", word.value) for word in call.keywords)]
        given = {parameter: shape for parameter, node in pairs if (shape := self._of(node)) is not None}
        if given:
            module = replace(self.module, functions=self.functions)
            _PartReader(module, {**self._outer(name), **given}, self.inside | {function}).read(function.body)

    def _outer(self, name: str) -> Mapping[str, Shape]:
        """Return what the function of that *name* knows beside its parameters: its object, if it is a method."""
        return {"self": self.known["self"]} if name.startswith("self.") and "self" in self.known else {}

    def _bind(self, target: ast.expr, shape: Shape | None) -> None:
        match target:
            case ast.Name(id=name) if shape is not None:
                self.known[name] = shape
            case ast.Name(id=name):
                self.known.pop(name, None)
            case ast.Attribute(value=ast.Name(id="self"), attr=name) if shape is not None and "self" in self.known:
                self.known["self"].attributes[name] = shape
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                for part in parts:
                    self._bind(part, None)
            case _:
                pass

    def _bind_item(self, target: ast.expr, iterable: ast.expr) -> None:
        shape = self._of(iterable)
        if isinstance(target, ast.Tuple) and isinstance(iterable, ast.Call) and last_name(iterable.func) == "enumerate":
            self._bind(target, None)
            target = target.elts[-1]
        is_mapping = isinstance(iterable, ast.Call) and last_name(iterable.func) in ("items", "keys", "values")
        self._bind(target, shape.item if shape is not None and not is_mapping and not shape.keys else None)

    def _of(self, node: ast.expr) -> Shape | None:  # noqa: PLR0911 - one case for each kind of expression
        """Return the shape of an expression that reads a part of what is known."""
        match node:
            case ast.Name(id=name):
                return self.known.get(name) or self.module.names.get(name)
            case ast.Call(func=ast.Name(id=name)) if name in self.module.names and name not in self.known:
                return self.module.names[name].answers.setdefault("", Shape())
            case ast.Attribute(value=value, attr=name) if not name.startswith("__") and (shape := self._of(value)):
                return shape.attributes.setdefault(name, Shape())
            case ast.Subscript(value=value, slice=ast.Constant(value=str() as key)) if shape := self._of(value):
                return shape.keys.setdefault(key, Shape())
            case ast.Subscript(value=value, slice=ast.Constant() | ast.UnaryOp()) if shape := self._of(value):
                return shape.item
            case ast.Call(func=ast.Name(id=name), args=[first, *_]) if name in _SAME_ITEMS:
                return self._of(first)
            case ast.Call(func=ast.Name(id="min" | "max"), args=[first]) if shape := self._of(first):
                return shape.item
            case ast.Call(func=ast.Name(id="getattr"), args=[value, ast.Constant(value=str() as name), *default]) if (
                name.isidentifier() and not iskeyword(name) and (shape := self._of(value))
            ):
                part = shape.attributes.setdefault(name, Shape())
                part.compared += [ast.unparse(one) for one in default if isinstance(one, ast.Constant)]
                return part
            case ast.ListComp(elt=elt) | ast.GeneratorExp(elt=elt) if shape := self._of(elt):
                return Shape(items=[shape])
            case ast.Call(func=ast.Attribute(value=value, attr=method)) if shape := self._of(value):
                return self._answer(node, shape, method)
            case ast.BoolOp(op=ast.Or(), values=[first, *_]) | ast.NamedExpr(value=first) | ast.Await(value=first):
                return self._of(first)
            case _:
                return None

    def _is_own(self, method: str, shape: Shape) -> bool:
        """Return whether the *method* of a value is one of the class that is read."""
        return f"self.{method}" in self.functions and shape is self.known.get("self")

    def _is_request(self, call: ast.Call, shape: Shape) -> bool:
        """Return whether a call of ``get`` asks a client, and no dictionary."""
        first = call.args[0] if call.args else None
        is_place = isinstance(first, ast.Constant) and isinstance(first.value, str) and "/" in first.value
        return bool(call.keywords) or is_place or any(one is shape for one in self.module.names.values())

    def _answer(self, call: ast.Call, shape: Shape, method: str) -> Shape | None:
        match call.args:
            case _ if method == "get" and self._is_request(call, shape):
                return shape.answers.setdefault(method, Shape())
            case [ast.Constant(value=str() as key), *default] if method in _GETTERS:
                part = shape.keys.setdefault(key, Shape())
                shape.optional.add(key)
                part.compared += [ast.unparse(one) for one in default if isinstance(one, ast.Constant)]
                return part
            case _ if treated_as(method) or method.startswith("__") or self._is_own(method, shape):
                return None
            case _ if method in _GETTERS:
                shape.types.append("dict")
                return None
            case _:
                return shape.answers.setdefault(method, Shape())


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int
