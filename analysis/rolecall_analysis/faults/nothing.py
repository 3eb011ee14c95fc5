"""Values that may be None, and are used as if they were not."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from rolecall_analysis.faults.possible import PossibleFault, Waypoint
from rolecall_analysis.faults.reading import ParsedFile, Reader, arguments_of, around, is_caught, outside_parentheses
from rolecall_analysis.faults.ways import Sight, find_way, known_before
from rolecall_analysis.grammar import ATTRIBUTE, CALL, SUBSCRIPT, child_of, kind_id
from rolecall_analysis.names import bound_names, text_of
from rolecall_analysis.unbound.conditions import is_none, without_parentheses
from rolecall_analysis.unbound.exits import own_nodes
from rolecall_analysis.unbound.flowgraph import Act, BasicBlock, Event, FlowGraph
from rolecall_analysis.values import Definition

_AWAIT = kind_id("await")
_NAMED, _COMPARISON = kind_id("named_expression"), kind_id("comparison_operator")
_RETURN, _YIELD = kind_id("return_statement"), kind_id("yield")
_ASSIGNMENT = kind_id("assignment")
_CAUGHT = frozenset({"AttributeError", "TypeError"})
_MATCHES = frozenset({"fullmatch", "match", "search"})
_MAY_GIVE_NONE = frozenset({"importlib.util.find_spec", "inspect.getmodule", "os.getenv", "shutil.which"})
# Names of things whose `get` is no look-up in a mapping: it asks a server, waits for a queue, reads a setting.
_NO_MAPPINGS = re.compile(
    r"(?i)(?:^|[._])(?:requests?|session|client|http|api|app|router|browser|driver|page|queue|q|var|setting|config"
    r"|stream|cls|self|super\(\)|factory|pool|manager|objects|repo|repository|db|store|service)$"
)
_DEFAULTS = frozenset({kind_id("default_parameter"), kind_id("typed_default_parameter")})
_PLAIN_DECORATORS = frozenset({"staticmethod", "classmethod", "lru_cache", "cache", "override", "final"})


def none_dereferenced(source: ParsedFile, reader: Reader) -> Iterator[PossibleFault]:
    """Yield the uses of a value that some way leaves None."""
    compiled = _compiled_patterns(source)
    for call in source.of_kind(CALL):
        use = _used_at_once(source, call)
        why = _why_none(source, reader, compiled, call) if use is not None else ""
        if use is not None and why and not _is_sheltered(source, call, use):
            yield source.fault(use, f"{why}, and it is used at once.", source.waypoint(call, why))
    for graph in source.graphs:
        for number, block in enumerate(graph.blocks):
            for index, event in enumerate(block.events):
                value = event.node if event.act is Act.BIND else None
                call = _call_in(value) if value is not None else None
                why = _why_none(source, reader, compiled, call) if call is not None else ""
                if call is not None and why and not _is_known_to_be_there(source, graph, number, index, call):
                    yield from _used_later(source, graph, (number, index), event.name, source.waypoint(call, why))
        for parameter, name in _none_by_default(source, graph):
            why = f"`{name}` is None where the caller gives nothing"
            yield from _used_later(source, graph, (0, -1), name, source.waypoint(parameter, why))


def _call_in(value: Node) -> Node | None:
    named = outside_parentheses(value.parent) if value.parent is not None and value.parent.kind_id == _NAMED else None
    if named is not None and named.parent is not None and named.parent.kind_id == _COMPARISON:
        return None  # `(found := find()) is not None` asks what is asked here
    value = without_parentheses(value)
    if value.kind_id == _AWAIT:
        value = without_parentheses(value.named_children[0])
    return value if value.kind_id == CALL else None


def _why_none(source: ParsedFile, reader: Reader, compiled: frozenset[str], call: Node) -> str:
    """Return why the value of *call* may be None; empty where nothing says so."""
    name, quoted = source.callee(call), source.quoted(call)
    holder, _, method = name.rpartition(".")
    arguments = arguments_of(call)
    if name in _MAY_GIVE_NONE and len(arguments) == 1:
        return f"`{quoted}` gives None where there is nothing"
    if method in _MATCHES and (holder in ("re", "regex") or holder in compiled):
        return f"`{quoted}` gives None where nothing matches"
    if method == "get" and holder and len(arguments) == 1 and _is_key(arguments[0]):
        return "" if _NO_MAPPINGS.search(holder) else f"`{quoted}` gives None where the key is missing"
    for callee in source.targets(call):
        found = _why_function_gives_none(reader, callee.definition)
        is_waited_for = call.parent is not None and call.parent.kind_id == _AWAIT
        if found and found[1] == is_waited_for:
            return f"`{quoted}` gives None: {found[0]}"
    return ""


def _is_key(argument: Node) -> bool:
    # With a slash it is the path of a request: `client.get("/users")`.
    is_word = argument.type == "string" and b"/" not in (argument.text or b"")
    return is_word or argument.type in ("identifier", "attribute", "integer", "subscript", "tuple")


def _compiled_patterns(source: ParsedFile) -> frozenset[str]:
    """Return the names to which the file gives ``re.compile(…)``."""
    found: set[str] = set()
    for assignment in source.of_kind(_ASSIGNMENT):
        left, right = child_of(assignment, "left"), child_of(assignment, "right")
        if left is not None and right is not None and right.kind_id == CALL and source.callee(right) == "re.compile":
            found.add(source.name(left))
    return frozenset(found - {""})


def _why_function_gives_none(reader: Reader, definition: Definition) -> tuple[str, bool] | None:
    """Return a few words on where a function gives None though elsewhere it gives a value, and whether it is a
    coroutine; None where it does not.
    """
    if definition.kind not in ("function", "method"):
        return None
    decorators = {one.partition("(")[0].rpartition(".")[2] for one in definition.decorators}
    is_plain = decorators <= _PLAIN_DECORATORS and not _is_overloaded(reader, definition)
    found = reader.function(definition) if is_plain else None
    if found is None or not _may_say_none(*found):
        return None
    source, function = found
    place = _empty_return(source, function)
    return (place, function.children[0].type == "async") if place else None


def _is_overloaded(reader: Reader, definition: Definition) -> bool:
    """Return whether the types say of each kind of call what it gives."""
    facts = reader.snapshot.files[definition.path]
    namesakes = facts.definitions_by_name.get((definition.scope, definition.name), ())
    return any("overload" in decorator for one in namesakes for decorator in one.decorators)


def _may_say_none(source: ParsedFile, function: Node) -> bool:
    """Return whether the annotation of a function leaves None open; one without an annotation does."""
    annotation = child_of(function, "return_type")
    return annotation is None or any(word in source.words(annotation) for word in ("None", "Optional"))


def _empty_return(source: ParsedFile, function: Node) -> str:
    """Return where a function that gives values gives none; empty where it does not."""
    body = child_of(function, "body")
    nodes = list(own_nodes(body)) if body is not None else []
    returns = [node for node in nodes if node.kind_id == _RETURN]
    empty = [one for one in returns if not one.named_child_count or is_none(one.named_children[0])]
    if empty and all(_is_none_for_none(source, function, one) for one in empty):
        return ""
    if len(returns) == len(empty) or any(node.kind_id == _YIELD for node in nodes):
        return ""
    if empty:
        return f"{source.path}:{min(one.start_point[0] for one in empty) + 1} returns nothing"
    is_open = _ends_without_return(source, function)
    return f"{source.path}:{function.start_point[0] + 1} can end without a return" if is_open else ""


def _is_none_for_none(source: ParsedFile, function: Node, empty: Node) -> bool:
    """Return whether nothing is returned only where nothing was given: ``if value is None: return None``."""
    parameters = child_of(function, "parameters")
    listed = parameters.named_children if parameters is not None else []
    names = {source.words(name) for one in listed for name in bound_names(child_of(one, "name") or one)[0]}
    block = empty.parent
    statement = block.parent if block is not None else None
    condition = child_of(statement, "condition") if statement is not None else None
    words = source.words(condition) if condition is not None else ""
    return any(words in (f"{name} is None", f"not {name}") for name in names)


def _ends_without_return(source: ParsedFile, function: Node) -> bool:
    graph = next((one for one in source.graphs if one.node == function), None)
    if graph is None:
        return False
    seen, waiting = {0}, [0]
    while waiting:
        block: BasicBlock = graph.blocks[waiting.pop()]
        handler = [block.handler] if block.handler is not None and block.may_raise else []
        fresh = {*block.after, *handler} - seen
        seen |= fresh
        waiting += fresh
    return graph.exit in seen


def _used_at_once(source: ParsedFile, call: Node) -> Node | None:
    """Return the use in ``re.match(…).group()`` or ``found(…)[0]``."""
    whole = outside_parentheses(call)
    if whole.parent is not None and whole.parent.kind_id == _AWAIT:
        whole = outside_parentheses(whole.parent)
    return _use_of(source, whole)


def _use_of(source: ParsedFile, value: Node) -> Node | None:
    """Return the attribute, subscript, call or loop that fails where *value* is None."""
    outer = value.parent
    if outer is None:
        return None
    if outer.kind_id == ATTRIBUTE and child_of(outer, "object") == value:
        attribute = child_of(outer, "attribute")
        # None has special attributes too.
        is_of_any = attribute is not None and text_of(source.source, attribute).startswith("__")
        return None if is_of_any else outer
    is_subscript = outer.kind_id == SUBSCRIPT and child_of(outer, "value") == value
    is_called = outer.kind_id == CALL and child_of(outer, "function") == value
    is_iterated = outer.type in ("for_statement", "for_in_clause") and child_of(outer, "right") == value
    return outer if is_subscript or is_called or is_iterated else None


def _is_sheltered(source: ParsedFile, call: Node, use: Node) -> bool:
    """Return whether a condition around *use* repeats the call or asks for its key, or the error is caught."""
    if is_caught(source, use, _CAUGHT):
        return True
    words = source.words(call)
    keys = arguments_of(call)
    asked = f"{source.words(keys[0])} in" if source.callee(call).endswith(".get") and keys else words
    for outer, inner in around(use):
        condition = child_of(outer, "condition") if outer.type in ("if_statement", "while_statement") else None
        if outer.type in ("conditional_expression", "boolean_operator", "assert_statement"):
            condition = outer
        if condition is not None and condition != inner:
            # Without the part that holds the use, which has these words itself.
            said = source.words(condition)
            if asked in said.replace(source.words(inner), "", 1) or words in said.replace(source.words(inner), "", 1):
                return True
    return False


def _is_known_to_be_there(source: ParsedFile, graph: FlowGraph, block: int, index: int, call: Node) -> bool:
    """Return whether ``key in mapping`` was tested before ``mapping.get(key)``."""
    keys, holder = arguments_of(call), source.callee(call).rpartition(".")[0]
    asked = f"{source.words(keys[0])} in {holder}" if keys else ""
    return (asked, True) in known_before(graph, block, index)


def _none_by_default(source: ParsedFile, graph: FlowGraph) -> Iterator[tuple[Node, str]]:
    """Yield the parameters whose default is None, unless their type leaves that open only for the caller to fill."""
    parameters = child_of(graph.node, "parameters") if graph.node is not None else None
    for parameter in parameters.named_children if parameters is not None else ():
        value = child_of(parameter, "value") if parameter.kind_id in _DEFAULTS else None
        name = child_of(parameter, "name")
        if value is not None and name is not None and is_none(value):
            yield parameter, source.words(name)


def _used_later(
    source: ParsedFile, graph: FlowGraph, start: tuple[int, int], name: str, origin: Waypoint
) -> Iterator[PossibleFault]:
    if "." in name or name in graph.global_names | graph.nonlocal_names:
        return
    is_bound_yet = start != (0, -1)

    def judge(event: Event) -> Sight:
        nonlocal is_bound_yet
        if event.act is Act.ASSUME and event.condition is not None:
            return _judge_condition(event, name)
        if event.name != name:
            return Sight.GO_ON
        if event.act is Act.READ and event.node is not None:
            use = _use_of(source, outside_parentheses(event.node))
            return Sight.FAULT if use is not None and not is_caught(source, use, _CAUGHT) else Sight.GO_ON
        if not is_bound_yet:
            is_bound_yet = True  # the parameter itself
            return Sight.GO_ON
        return Sight.SAFE if event.act in (Act.BIND, Act.UNBIND) else Sight.GO_ON

    way = find_way(graph, *start, judge)
    if way is None or way.end is None or way.end.node is None:
        return
    use = _use_of(source, outside_parentheses(way.end.node))
    assert use is not None
    yield source.fault(
        use,
        f"`{name}` may be None here.",
        origin,
        *way.waypoints(source),
        source.waypoint(use, f"`{source.quoted(use)}` fails where `{name}` is None"),
    )


def _judge_condition(event: Event, name: str) -> Sight:
    """Return that a way is safe once a condition on the name was tested, unless it says that there is nothing."""
    assert event.condition is not None
    if name not in event.condition.names:
        return Sight.GO_ON
    says_nothing = ((name, False), (f"{name} is None", True), (f"{name} == None", True))
    return Sight.GO_ON if (event.condition.text, event.truth) in says_nothing else Sight.SAFE
