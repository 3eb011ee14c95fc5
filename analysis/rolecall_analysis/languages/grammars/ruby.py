"""Ruby."""

from __future__ import annotations

from tree_sitter import Node

from rolecall_analysis.languages.grammar import GrammarReading, Link
from rolecall_analysis.languages.handlers import (
    binds,
    binds_children,
    type_steps,
    visit_anonymous,
    visit_children,
    visit_name,
)
from rolecall_analysis.languages.walk import Inside, Steps, Walk, WalkScope

_MAKES_A_CLASS = frozenset({"Class.new", "Struct.new", "Module.new", "Data.define"})
_ACCESSORS = frozenset({"attr_accessor", "attr_reader", "attr_writer", "attr"})
_MIXES_IN = frozenset({"include", "extend", "prepend"})
_LOADS = frozenset({"require", "require_relative", "load", "autoload"})
_LOCAL_TARGETS = frozenset({"identifier", "left_assignment_list", "destructured_left_assignment", "splat"})


def _outside(walk: Walk, name: Node, scope: WalkScope) -> tuple[Node, WalkScope]:
    """Return the node and the scope of a name that may be qualified: ``Shop::Cart``."""
    if name.type != "scope_resolution":
        return name, scope
    outer = walk.dotted(name.child_by_field_name("scope"))
    holder = WalkScope(scope.qualified(outer), scope.inside, scope.owner) if outer else scope
    return name.child_by_field_name("name") or name, holder


def _visit_class(walk: Walk, node: Node, scope: WalkScope) -> Steps:
    name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
    if name is None:
        return visit_anonymous(walk, node, scope)
    last, outer = _outside(walk, name, scope)
    if node.type == "class":
        steps = type_steps(walk, node, outer, kind="class", name=last, body=body or _end(node), bases=("superclass",))
        return [step for step in steps if step[0] != name]
    inside = walk.define("module", last, node, outer, body=body)
    return [(body, WalkScope(inside.name, Inside.TYPE, inside.name))] if body is not None else ()


def _visit_method(walk: Walk, node: Node, scope: WalkScope) -> Steps:
    name, holder, body = (node.child_by_field_name(field) for field in ("name", "object", "body"))
    if name is None:
        return visit_anonymous(walk, node, scope)
    if holder is not None and holder.type != "self" and (named := walk.dotted(holder)):
        scope = WalkScope(named, Inside.TYPE, scope.owner)
    kind = "method" if scope.inside is Inside.TYPE else "function"
    inside = walk.define(kind, name, node, scope, body=_first_of_body(node, body))
    return [(child, inside) for child in node.named_children if child not in (name, holder)]


def _first_of_body(node: Node, body: Node | None) -> Node | None:
    """Return the node at which a method's header ends; one without parameters and body ends at once."""
    if body is not None or node.child_by_field_name("parameters") is not None:
        return body or _end(node)
    return _end(node)


def _end(node: Node) -> Node | None:
    return next((child for child in node.children if child.type in {"end", ";"}), None)


def _visit_assignment(walk: Walk, node: Node, scope: WalkScope) -> Steps:
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    if left is None or right is None:
        return visit_children(walk, node, scope)
    if left.type == "constant":
        return _define_constant(walk, node, left, right, scope)
    if left.type in _LOCAL_TARGETS:
        local = scope.code()
        return [(right, scope), *walk.bind_pattern(left, local)]
    return visit_children(walk, node, scope)


def _define_constant(walk: Walk, node: Node, left: Node, right: Node, scope: WalkScope) -> Steps:
    """Define a constant; if its value is a class made in place, define it as that class."""
    if right.type == "call":
        made = (
            f"{walk.dotted(right.child_by_field_name('receiver'))}.{walk.dotted(right.child_by_field_name('method'))}"
        )
        block = right.child_by_field_name("block")
        if made in _MAKES_A_CLASS:
            bases = walk.names_under(right.child_by_field_name("arguments")) if made == "Class.new" else []
            inside = walk.define("class", left, node, scope, body=block, bases=bases)
            body = WalkScope(inside.name, Inside.TYPE, inside.name)
            steps = [step for step in _visit_call(walk, right, scope) if step[0] != block]
            return [*steps, *((child, body) for child in (block.named_children if block is not None else ()))]
    # A constant that a block assigns belongs to the type around the block.
    walk.bind_or_define(
        left, scope if scope.inside is not Inside.CODE else WalkScope(scope.name, Inside.TYPE, scope.owner), node
    )
    return [(right, scope)]


def _visit_call(walk: Walk, node: Node, scope: WalkScope) -> Steps:
    receiver, method = node.child_by_field_name("receiver"), node.child_by_field_name("method")
    arguments = node.child_by_field_name("arguments")
    if method is None:
        return visit_children(walk, node, scope)
    if receiver is None and arguments is not None:
        _note_declaration(walk, node, walk.text(method), arguments.named_children, scope)
    rest = _note_calls(walk, node, receiver, method, scope)
    return [*rest, *((child, scope) for child in node.named_children if child not in (receiver, method))]


def _note_calls(walk: Walk, node: Node, receiver: Node | None, method: Node, scope: WalkScope) -> Steps:
    """Note the call, and those in the chain before it that have no arguments: ``cart.items.first``."""
    rest = walk.call_member(node, receiver, method, scope)
    names = walk.calls[-1].callee.split(".")
    consumed = receiver
    while consumed is not None and consumed.type == "call" and len(names) > 1 and consumed not in (s[0] for s in rest):
        names.pop()
        walk.note_named_call(".".join(names), consumed, scope)
        consumed = consumed.child_by_field_name("receiver")
    if consumed is not None and consumed.type == "identifier" and (scope.name, names[0]) not in walk.local_names:
        walk.note_named_call(names[0], consumed, scope)
    return rest


def _note_declaration(walk: Walk, node: Node, name: str, arguments: list[Node], scope: WalkScope) -> None:
    """Note what a call at the level of a class or a file declares."""
    first = arguments[0] if arguments else None
    if first is None:
        return
    if name in _LOADS:
        _note_load(walk, node, name, arguments[-1], scope)
    elif name in _ACCESSORS and scope.inside is Inside.TYPE:
        for symbol in arguments:
            if symbol.type == "simple_symbol":
                walk.define("method", symbol, node, scope, text=walk.text(symbol).lstrip(":"))
    elif name in _MIXES_IN and scope.name and scope.inside is Inside.TYPE:
        bases = [base for one in arguments for base in walk.names_under(one)]
        walk.more_bases.setdefault(scope.name, []).extend(bases)
    elif name in {"define_method", "alias_method"} and first.type == "simple_symbol" and scope.inside is Inside.TYPE:
        walk.define(
            "method", first, node, scope, text=walk.text(first).lstrip(":"), body=node.child_by_field_name("block")
        )


def _note_load(walk: Walk, node: Node, name: str, argument: Node, scope: WalkScope) -> None:
    if argument.type == "string" and argument.named_child_count == 1:
        module = walk.text(argument)[1:-1]
        # `require_relative` looks beside the file, `require` along the load path.
        if name == "require_relative" and not module.startswith("."):
            module = f"./{module}"
        walk.note_import(node, argument, scope, module, "*")


def _visit_identifier(walk: Walk, node: Node, scope: WalkScope) -> Steps:
    """Note a bound name as read, and any other name as a call."""
    if (scope.name, walk.text(node)) in walk.local_names:
        walk.refer([node], True, scope)
    else:
        # Ruby takes a name that was never assigned for a call without arguments.
        walk.note_call([node], node, node, scope)
    return ()


def _visit_super(walk: Walk, node: Node, scope: WalkScope) -> Steps:
    walk.note_call([node], node, node, scope)
    return ()


def _visit_alias(walk: Walk, node: Node, scope: WalkScope) -> Steps:
    name = node.child_by_field_name("name")
    if name is not None and name.type == "identifier":
        walk.define("method" if scope.inside is Inside.TYPE else "function", name, node, scope)
    return ()


def _visit_singleton_class(_walk: Walk, node: Node, scope: WalkScope) -> Steps:
    # `class << self`: what stands there are methods of the class around it.
    body = node.child_by_field_name("body")
    return [(body, scope)] if body is not None else ()


def _visit_exception_variable(walk: Walk, node: Node, scope: WalkScope) -> Steps:
    return binds_children(walk, node, scope)


READING = GrammarReading(
    handlers={
        "class": _visit_class,
        "module": _visit_class,
        "singleton_class": _visit_singleton_class,
        "method": _visit_method,
        "singleton_method": _visit_method,
        "assignment": _visit_assignment,
        "operator_assignment": _visit_assignment,
        "call": _visit_call,
        "identifier": _visit_identifier,
        "super": _visit_super,
        "alias": _visit_alias,
        "block": visit_anonymous,
        "do_block": visit_anonymous,
        "lambda": visit_anonymous,
        "method_parameters": binds_children,
        "block_parameters": binds_children,
        "lambda_parameters": binds_children,
        "exception_variable": _visit_exception_variable,
        "for": binds("pattern"),
        "scope_resolution": visit_name,
        "constant": Walk.refer_plain,
        "instance_variable": Walk.refer_plain,
        "class_variable": Walk.refer_plain,
        "global_variable": Walk.refer_plain,
    },
    names=frozenset(
        {
            *("identifier", "constant", "instance_variable", "class_variable", "global_variable", "self", "super"),
            *("operator", "setter"),
        }
    ),
    links={
        "scope_resolution": Link("scope", "name"),
        "call": Link("receiver", "method", unless=("arguments", "block")),
    },
    patterns={
        "left_assignment_list": (),
        "destructured_left_assignment": (),
        "destructured_parameter": (),
        "rest_assignment": (),
        "splat": (),
        "optional_parameter": ("value",),
        "keyword_parameter": ("value",),
        "splat_parameter": (),
        "hash_splat_parameter": (),
        "block_parameter": (),
    },
    skipped=frozenset(
        {
            "undef",
            *("integer", "float", "simple_symbol", "hash_key_symbol", "string_content", "heredoc_content", "true"),
            *("false", "nil", "escape_sequence", "heredoc_beginning", "character", "encoding", "file", "line"),
        }
    ),
)
