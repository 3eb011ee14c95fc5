"""Statements in the order in which they run."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tree_sitter import Node

from rolecall_analysis.grammar import (
    CLASS,
    COMMENT,
    DECORATOR,
    DOTTED,
    FUNCTION,
    IDENTIFIER,
    WILDCARD,
    child_of,
    kind_id,
)
from rolecall_analysis.names import bound_names
from rolecall_analysis.unbound.conditions import is_none, is_type_checking, truth_of, without_parentheses
from rolecall_analysis.unbound.expressions import begin_loop, evaluate, test
from rolecall_analysis.unbound.patterns import match_statement
from rolecall_analysis.unbound.protected import try_statement, with_statement
from rolecall_analysis.unbound.targets import bind_target
from rolecall_analysis.unbound.trail import IMPORT_ERRORS, Loop, Steps, Trail

_AS_PATTERN = kind_id("as_pattern")
_ASSIGNMENT = kind_id("assignment")
_ELIF, _ELSE = kind_id("elif_clause"), kind_id("else_clause")
_EXCEPT, _FINALLY = kind_id("except_clause"), kind_id("finally_clause")
_BLOCK = kind_id("block")
_WITH_ITEM = kind_id("with_item")


def suite(trail: Trail, block: Node | None) -> Steps:
    """Walk the statements of *block*, one after the other."""
    for statement in block.named_children if block is not None else ():
        if statement.kind_id != COMMENT:
            trail.begin_statement()
            yield _STATEMENTS.get(statement.kind_id, evaluate)(trail, statement)


def function_body(trail: Trail, node: Node) -> Steps:
    """Walk a function from its parameters to its end."""
    parameters = child_of(node, "parameters")
    for parameter in parameters.named_children if parameters is not None else ():
        target = child_of(parameter, "name") or (
            parameter.named_children[0] if parameter.type == "typed_parameter" else parameter
        )
        trail.bind_all(map(trail.text, bound_names(target)[0]))
    yield suite(trail, child_of(node, "body"))


def _if(trail: Trail, node: Node) -> Steps:
    after = trail.block()
    clauses = [node, *(child for child in node.named_children if child.kind_id in (_ELIF, _ELSE))]
    for clause in clauses:
        condition = child_of(clause, "condition")
        if condition is None:
            yield suite(trail, child_of(clause, "body"))
            continue
        yes, no = trail.block(), trail.block()
        yield test(trail, condition, yes, no)
        trail.enter(yes)
        before = trail.for_type_checkers
        trail.for_type_checkers = before or is_type_checking(trail.source, without_parentheses(condition))
        yield suite(trail, child_of(clause, "consequence"))
        trail.for_type_checkers = before
        trail.link(after)
        trail.enter(no)
    trail.link(after)
    trail.enter(after)


def _while(trail: Trail, node: Node) -> Steps:
    condition = child_of(node, "condition")
    if condition is None:
        return
    again, body, otherwise, after = (trail.block() for _ in range(4))
    trail.link(again)
    trail.enter(again)
    yield test(trail, condition, body, otherwise)
    trail.enter(body)
    yield _loop(trail, node, Loop(after, again), otherwise)


def _for(trail: Trail, node: Node) -> Steps:
    target, iterable = child_of(node, "left"), child_of(node, "right")
    if target is None or iterable is None:
        return
    yield evaluate(trail, iterable)
    again, body, otherwise, after = (trail.block() for _ in range(4))
    # What an asynchronous iterator does cannot be told by what it is called.
    if node.children[0].type == "async":
        trail.may_raise()
        trail.link(body)
        trail.goto(otherwise)
    else:
        begin_loop(trail, iterable, body, otherwise)
    trail.enter(again)
    if iterable.kind_id != IDENTIFIER:
        trail.may_raise()
    trail.link(body)
    trail.goto(otherwise)
    trail.enter(body)
    yield bind_target(trail, target)
    yield _loop(trail, node, Loop(after, again), otherwise)


def _loop(trail: Trail, node: Node, loop: Loop, otherwise: int) -> Steps:
    """Walk the body of a loop and its ``else``."""
    trail.frames.append(loop)
    yield suite(trail, child_of(node, "body"))
    trail.goto(loop.again)
    trail.frames.pop()
    trail.enter(otherwise)
    alternative = child_of(node, "alternative")
    yield suite(trail, child_of(alternative, "body") if alternative is not None else None)
    trail.link(loop.after)
    trail.enter(loop.after)


def _assignment(trail: Trail, node: Node) -> Steps:
    left, right, annotation = (child_of(node, field) for field in ("left", "right", "type"))
    if left is None:
        return
    # Python never evaluates the annotation of a local variable.
    is_local = trail.graph.parent is not None and not trail.classes
    if annotation is not None and not is_local:
        yield annotated(trail, annotation)
    if right is None:
        if left.kind_id == IDENTIFIER:
            trail.declare(trail.text(left))
        return
    yield _assignment(trail, right) if right.kind_id == _ASSIGNMENT else evaluate(trail, right)
    if left.kind_id == IDENTIFIER:
        trail.bind(trail.text(left), truth_of(trail.source, right), is_none(right), right)
    else:
        if left.type in ("pattern_list", "tuple_pattern", "list_pattern"):
            trail.may_raise()
        yield bind_target(trail, left)


def annotated(trail: Trail, annotation: Node) -> Steps:
    """Walk the names in an annotation, if it is evaluated at once."""
    if trail.evaluates_annotations:
        trail.in_annotation = True
        yield evaluate(trail, annotation)
        trail.in_annotation = False


def _augmented(trail: Trail, node: Node) -> Steps:
    left, right = child_of(node, "left"), child_of(node, "right")
    if left is None or right is None:
        return
    trail.may_raise()
    # Python looks the target up before it evaluates the right side.
    if left.kind_id == IDENTIFIER:
        trail.read(left)
    yield evaluate(trail, right)
    yield bind_target(trail, left)


def _delete(trail: Trail, node: Node) -> Steps:
    trail.may_raise()
    for child in node.named_children:
        names, rest = bound_names(child)
        # `del a, b`: the grammar has a list of values here, and no pattern.
        if child.type == "expression_list":
            names = [part for part in child.named_children if part.kind_id == IDENTIFIER]
            rest = [part for part in child.named_children if part.kind_id != IDENTIFIER]
        for part in rest:
            yield evaluate(trail, part)
        for name in names:
            # To delete a name that has no value is a NameError, as it is to read one.
            trail.read(name)
            trail.unbind(trail.text(name))


def _expression(trail: Trail, node: Node) -> Steps:
    for child in node.named_children:
        yield _STATEMENTS.get(child.kind_id, evaluate)(trail, child)


def _return(trail: Trail, node: Node) -> Steps:
    for child in node.named_children:
        yield evaluate(trail, child)
    trail.jump("return")


def _raise(trail: Trail, node: Node) -> Steps:
    trail.may_raise()
    for child in node.named_children:
        yield evaluate(trail, child)
    trail.stop()


def _break(trail: Trail, node: Node) -> Steps:
    trail.jump(node.type.partition("_")[0])
    yield from ()


def _assert(trail: Trail, node: Node) -> Steps:
    parts = node.named_children
    if not parts:
        return
    yes, no = trail.block(), trail.block()
    yield test(trail, parts[0], yes, no)
    trail.enter(no)
    for message in parts[1:]:
        yield evaluate(trail, message)
    trail.stop()
    trail.enter(yes)


def _import(trail: Trail, node: Node) -> Steps:
    trail.may_raise()
    module = child_of(node, "module_name")
    if module is not None and trail.is_package_body and (submodule := _submodule(trail.text(module))):
        trail.bind(submodule)
    for child in node.named_children:
        if child == module:
            continue
        if child.kind_id == WILDCARD:
            trail.bind_unknown()
            continue
        alias, name = child_of(child, "alias"), child if child.kind_id == DOTTED else child_of(child, "name")
        if name is not None:
            local = trail.text(alias) if alias is not None else trail.text(name).partition(".")[0].strip()
            trail.bind(local)
            if trail.caught & IMPORT_ERRORS:
                trail.graph.optional_imports.add(local)
    yield from ()


def _submodule(module: str) -> str:
    """Return the name that ``from .price import total`` makes a name of its package: ``price``."""
    inner = module.removeprefix(".")
    return inner.partition(".")[0] if inner != module else ""


def _outer_names(trail: Trail, node: Node) -> Steps:
    names = {trail.text(child) for child in node.named_children}
    (trail.graph.global_names if node.type == "global_statement" else trail.graph.nonlocal_names).update(names)
    yield from ()


def _decorated(trail: Trail, node: Node) -> Steps:
    for child in node.named_children:
        if child.kind_id == DECORATOR:
            trail.may_raise()
            yield evaluate(trail, child)
    definition = child_of(node, "definition")
    if definition is not None:
        yield _STATEMENTS.get(definition.kind_id, evaluate)(trail, definition)


def _function(trail: Trail, node: Node) -> Steps:
    name, parameters, result = (child_of(node, field) for field in ("name", "parameters", "return_type"))
    if name is None:
        return
    trail.hidden.append(_type_parameters(trail, node))
    for parameter in parameters.named_children if parameters is not None else ():
        value, annotation = child_of(parameter, "value"), child_of(parameter, "type")
        if value is not None:
            yield evaluate(trail, value)
        if annotation is not None:
            yield annotated(trail, annotation)
    if result is not None:
        yield annotated(trail, result)
    trail.hidden.pop()
    # By its node: a `finally` is walked for each way out, and what it defines is one function all the same.
    trail.functions[node.id] = node, trail.qualified(trail.text(name))
    trail.bind(trail.text(name))


def _type_parameters(trail: Trail, node: Node) -> set[str]:
    parameters = child_of(node, "type_parameters")
    found = parameters.named_children if parameters is not None else []
    return {trail.text(name) for child in found for name in _first_identifiers(child)}


def _first_identifiers(node: Node) -> Iterable[Node]:
    stack = [node]
    while stack:
        part = stack.pop()
        if part.kind_id == IDENTIFIER:
            yield part
            return
        stack.extend(reversed(part.named_children))


def _class(trail: Trail, node: Node) -> Steps:
    name, bases, body = (child_of(node, field) for field in ("name", "superclasses", "body"))
    if name is None:
        return
    trail.hidden.append(_type_parameters(trail, node))
    if bases is not None:
        trail.may_raise()
        yield evaluate(trail, bases)
    own = trail.text(name)
    index = trail.class_indexes.setdefault(node.id, len(trail.class_indexes) + 1)
    trail.classes.append((index, own))
    yield suite(trail, body)
    trail.classes.pop()
    trail.hidden.pop()
    trail.bind(own)


def _type_alias(trail: Trail, node: Node) -> Steps:
    left = child_of(node, "left")
    if left is not None:
        # The value is left out: Python evaluates it when somebody asks the alias for it.
        trail.bind_all(map(trail.text, _first_identifiers(left)))
    yield from ()


_STATEMENTS: dict[int, Callable[[Trail, Node], Steps]] = {
    CLASS: _class,
    FUNCTION: _function,
    _ASSIGNMENT: _assignment,
    kind_id("assert_statement"): _assert,
    kind_id("augmented_assignment"): _augmented,
    kind_id("break_statement"): _break,
    kind_id("continue_statement"): _break,
    kind_id("decorated_definition"): _decorated,
    kind_id("delete_statement"): _delete,
    kind_id("expression_statement"): _expression,
    kind_id("for_statement"): _for,
    kind_id("future_import_statement"): lambda trail, _node: suite(trail, None),
    kind_id("global_statement"): _outer_names,
    kind_id("if_statement"): _if,
    kind_id("import_from_statement"): _import,
    kind_id("import_statement"): _import,
    kind_id("match_statement"): lambda trail, node: match_statement(trail, node, suite),
    kind_id("nonlocal_statement"): _outer_names,
    kind_id("raise_statement"): _raise,
    kind_id("return_statement"): _return,
    kind_id("try_statement"): lambda trail, node: try_statement(trail, node, suite),
    kind_id("type_alias_statement"): _type_alias,
    kind_id("while_statement"): _while,
    kind_id("with_statement"): lambda trail, node: with_statement(trail, node, suite),
}
