"""Expressions in the order in which they are evaluated."""

from __future__ import annotations

from collections.abc import Callable

from tree_sitter import Node

from rolecall_analysis.grammar import ATTRIBUTE, CALL, IDENTIFIER, SUBSCRIPT, child_of, kind_id
from rolecall_analysis.names import bound_names, dotted_name
from rolecall_analysis.unbound.conditions import (
    condition_of,
    counts_at_least_once,
    is_none,
    iterated,
    truth_of,
    without_parentheses,
)
from rolecall_analysis.unbound.trail import Steps, Trail

_BOOLEAN = kind_id("boolean_operator")
_NOT = kind_id("not_operator")
_NAMED = kind_id("named_expression")
_FOR, _IF = kind_id("for_in_clause"), kind_id("if_clause")
_GENERATOR = kind_id("generator_expression")
_RAISING = frozenset(
    {
        ATTRIBUTE,
        CALL,
        SUBSCRIPT,
        kind_id("await"),
        kind_id("binary_operator"),
        kind_id("comparison_operator"),
        kind_id("dictionary_splat"),
        kind_id("interpolation"),
        kind_id("list_splat"),
        kind_id("unary_operator"),
        kind_id("yield"),
    }
)


def evaluate(trail: Trail, node: Node) -> Steps:
    """Walk an expression and note the names that it reads and binds."""
    stack = [node]
    while stack:
        part = stack.pop()
        kind = part.kind_id
        if kind == IDENTIFIER:
            trail.read(part)
        elif (special := _SPECIAL.get(kind)) is not None:
            yield special(trail, part)
        else:
            if kind in _RAISING:
                trail.may_raise()
            stack.extend(reversed(part.named_children))


def test(trail: Trail, node: Node, yes: int, no: int) -> Steps:
    """Evaluate a condition, and go on in *yes* or in *no*."""
    node = without_parentheses(node)
    truth = truth_of(trail.source, node)
    if node.kind_id == _NOT:
        argument = child_of(node, "argument")
        if argument is not None:
            yield test(trail, argument, no, yes)
    elif node.kind_id == _BOOLEAN:
        yield _both_or_either(trail, node, yes, no)
    elif truth is not None:
        trail.goto(yes if truth else no)
    else:
        yield evaluate(trail, node)
        name = child_of(node, "name") if node.kind_id == _NAMED else None
        branch(trail, name or node, yes, no)


def branch(trail: Trail, node: Node, yes: int, no: int) -> None:
    """Go on in *yes*, where the condition *node* is known to be true, or in *no*, where it is not."""
    found = condition_of(trail.source, node)
    before = trail.current
    for block, truth in ((yes, True), (no, False)):
        trail.resume(before)
        if found is not None:
            known = trail.block()
            trail.link(known)
            trail.enter(known)
            trail.assume(found[0], truth == found[1], node)
        trail.link(block)
    trail.leave()


def _both_or_either(trail: Trail, node: Node, yes: int, no: int) -> Steps:
    left, right = child_of(node, "left"), child_of(node, "right")
    if left is None or right is None:
        return
    whole_yes, whole_no, second = trail.block(), trail.block(), trail.block()
    if _operator(node) == "and":
        yield test(trail, left, second, whole_no)
    else:
        yield test(trail, left, whole_yes, second)
    trail.enter(second)
    yield test(trail, right, whole_yes, whole_no)
    found = condition_of(trail.source, node)
    for block, truth, following in ((whole_yes, True, yes), (whole_no, False, no)):
        trail.enter(block)
        if found is not None:
            trail.assume(found[0], truth == found[1], node)
        trail.link(following)
    trail.leave()


def _operator(node: Node) -> str:
    operator = child_of(node, "operator")
    return operator.type if operator is not None else "and"


def _boolean(trail: Trail, node: Node) -> Steps:
    """``a and b`` for its value: *b* is evaluated only if it counts."""
    left, right = child_of(node, "left"), child_of(node, "right")
    if left is None or right is None:
        return
    second, after = trail.block(), trail.block()
    yield test(trail, left, second, after) if _operator(node) == "and" else test(trail, left, after, second)
    trail.enter(second)
    yield evaluate(trail, right)
    trail.link(after)
    trail.enter(after)


def _choice(trail: Trail, node: Node) -> Steps:
    parts = node.named_children
    if len(parts) != 3:
        return
    yes, no, after = trail.block(), trail.block(), trail.block()
    yield test(trail, parts[1], yes, no)
    for block, value in ((yes, parts[0]), (no, parts[2])):
        trail.enter(block)
        yield evaluate(trail, value)
        trail.link(after)
    trail.enter(after)


def _named_expression(trail: Trail, node: Node) -> Steps:
    name, value = child_of(node, "name"), child_of(node, "value")
    if name is None or value is None:
        return
    yield evaluate(trail, value)
    trail.bind(trail.text(name), truth_of(trail.source, value), is_none(value), value)


def _call(trail: Trail, node: Node) -> Steps:
    function, arguments = child_of(node, "function"), child_of(node, "arguments")
    trail.may_raise()
    if function is not None:
        yield evaluate(trail, function)
    if arguments is not None:
        # A generator that is handed to a call is all but always consumed by it.
        yield _comprehension(trail, arguments) if arguments.kind_id == _GENERATOR else evaluate(trail, arguments)
    if trail.exits.never_returns(trail.source, node):
        trail.stop()
    elif function is not None and _binds_unknown_names(trail, function):
        trail.bind_unknown()


def _binds_unknown_names(trail: Trail, function: Node) -> bool:
    name = dotted_name(trail.source, function)[0]
    return name in ("exec", "globals", "vars", "locals")


def _attribute(trail: Trail, node: Node) -> Steps:
    value = child_of(node, "object")
    trail.may_raise()
    if value is not None:
        yield evaluate(trail, value)


def _value_only(trail: Trail, node: Node) -> Steps:
    value = child_of(node, "value")
    if value is not None:
        yield evaluate(trail, value)


def _lambda(trail: Trail, node: Node) -> Steps:
    """Walk the defaults of a lambda; its body runs later."""
    parameters = child_of(node, "parameters")
    for parameter in parameters.named_children if parameters is not None else ():
        value = child_of(parameter, "value")
        if value is not None:
            yield evaluate(trail, value)


def _late_generator(trail: Trail, node: Node) -> Steps:
    """Walk what a generator iterates over; the rest of a generator that is kept runs later."""
    clauses = [child for child in node.named_children if child.kind_id == _FOR]
    iterable = child_of(clauses[0], "right") if clauses else None
    if iterable is not None:
        yield evaluate(trail, iterable)


def _comprehension(trail: Trail, node: Node) -> Steps:
    body = child_of(node, "body")
    after = trail.block()
    ends = [after]
    """Where the loops around go on, innermost last."""
    names: set[str] = set()
    for clause in node.named_children:
        if clause.kind_id == _FOR:
            target, iterable = child_of(clause, "left"), child_of(clause, "right")
            if target is None or iterable is None:
                continue
            yield evaluate(trail, iterable)
            first, again = trail.block(), trail.block()
            begin_loop(trail, iterable, first, ends[-1])
            trail.enter(again)
            trail.link(first)
            trail.goto(ends[-1])
            trail.enter(first)
            ends.append(again)
            names |= {trail.text(name) for name in bound_names(target)[0]}
            # Only after the first iterable, which is evaluated outside; further clauses add to this same set.
            if len(ends) == 2:
                trail.hidden.append(names)
        elif clause.kind_id == _IF and clause.named_child_count:
            passed = trail.block()
            yield test(trail, clause.named_children[0], passed, ends[-1])
            trail.enter(passed)
    if body is not None:
        yield evaluate(trail, body)
    trail.link(ends[-1])
    if len(ends) > 1:
        trail.hidden.pop()
    trail.enter(after)


def begin_loop(trail: Trail, iterable: Node, first: int, after: int) -> None:
    """Go on in *first* if there is anything to iterate over, else in *after*."""
    iterable = without_parentheses(iterable)
    if iterable.kind_id != IDENTIFIER:  # to iterate over what has a name seldom fails
        trail.may_raise()
    counted = iterated(trail.source, iterable)
    is_filled = truth_of(trail.source, counted)
    if is_filled is None and trail.exits.has_builtin_range and counts_at_least_once(trail.source, counted):
        is_filled = True
    if is_filled is None:
        # As a condition on what is iterated over: two loops over the same thing both run, or neither does.
        branch(trail, counted, first, after)
    else:
        trail.goto(first if is_filled else after)


_SPECIAL: dict[int, Callable[[Trail, Node], Steps]] = {
    ATTRIBUTE: _attribute,
    CALL: _call,
    _BOOLEAN: _boolean,
    _GENERATOR: _late_generator,
    _NAMED: _named_expression,
    kind_id("conditional_expression"): _choice,
    kind_id("dictionary_comprehension"): _comprehension,
    kind_id("keyword_argument"): _value_only,
    kind_id("lambda"): _lambda,
    kind_id("list_comprehension"): _comprehension,
    kind_id("set_comprehension"): _comprehension,
}
