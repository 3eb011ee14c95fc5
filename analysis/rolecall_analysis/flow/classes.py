"""Classes: the order in which bases are searched, and what an attribute of a class or an instance is."""

from __future__ import annotations

from collections.abc import Iterable

from rolecall_analysis.flow.code import FlowScope, ModuleCode
from rolecall_analysis.flow.program import need_name, new_frame, run_frame
from rolecall_analysis.flow.state import Flow, bound, instance_of
from rolecall_analysis.flow.values import (
    ClassValue,
    ContainerValue,
    Frame,
    FunctionValue,
    InstanceValue,
    Lookup,
    OutsideValue,
    PropertyValue,
    TextValue,
    Value,
    WrappedValue,
)

MAX_ORDER = 64
"""Longer chains of bases are cut off."""


def new_class(flow: Flow, code: ModuleCode, scope: FlowScope, around: Frame) -> ClassValue:
    """Return the class that *scope* defines in the frame *around*; the first time, make it and let its body run."""
    # A function makes another class in each of its frames.
    key = ("class", code.path, scope.index, around.first_node)
    number = flow.interned.get(key)
    if number is not None:
        known = flow.values[number]
        assert isinstance(known, ClassValue)
        return known
    frame = new_frame(flow, code, scope, around, around.n_deep)
    number = flow.intern(key, lambda number: ClassValue(number, frame))
    made = flow.values[number]
    assert isinstance(made, ClassValue)
    frame.class_value = made
    flow.classes.append(made)
    if flow.is_whole:
        run_frame(flow, frame)
    return made


def add_base(flow: Flow, of: ClassValue, place: int, token: int) -> None:
    """Tell a class what its base number *place* may be."""
    while len(of.bases) <= place:
        of.bases.append([])
    base = flow.value_of(token)
    if isinstance(base, ClassValue):
        # A name may hold several classes, among them one that inherits from this: it would close a circle.
        if base is of or base in of.bases[place] or any(known is of for known in order(base)):
            return
        of.bases[place].append(base)
        base.subclasses.append(of)
        _forget_orders(flow, of)
    elif isinstance(base, OutsideValue):
        of.outside_bases.setdefault(base.name, place)


def add_metaclass(flow: Flow, of: ClassValue, token: int) -> None:
    """Tell a class what its metaclass may be."""
    found = flow.value_of(token)
    if isinstance(found, ClassValue) and found not in of.metaclasses:
        of.metaclasses.append(found)
        for name, lookup in list(of.of_class.items()):
            _link_lookup(flow, lookup, name)


def order(of: ClassValue) -> tuple[ClassValue, ...]:
    """Return the class and its bases, in the order in which attributes are looked for.

    Source: the C3 linearisation, as Python uses it; where it fails, depth first.
    """
    if of.order is not None:
        return of.order
    for member in _bases_first(of):
        if member.order is None:
            member.order = _merged(member)
    assert of.order is not None
    return of.order


def _bases_first(of: ClassValue) -> list[ClassValue]:
    found: list[ClassValue] = []
    seen = {of.number}
    stack = [(of, iter([base for bases in of.bases for base in bases]))]
    while stack:
        member, rest = stack[-1]
        base = next(rest, None)
        if base is None:
            found.append(member)
            stack.pop()
        elif base.number not in seen:
            seen.add(base.number)
            if base.order is None:
                stack.append((base, iter([above for bases in base.bases for above in bases])))
    return found


def _merged(of: ClassValue) -> tuple[ClassValue, ...]:
    bases = [base for bases in of.bases for base in bases]
    sequences = [list(base.order or (base,)) for base in bases] + [list(bases)]
    result = [of]
    while sequences := [sequence for sequence in sequences if sequence]:
        tails = {member.number for sequence in sequences for member in sequence[1:]}
        head = next((sequence[0] for sequence in sequences if sequence[0].number not in tails), sequences[0][0])
        result.append(head)
        sequences = [[member for member in sequence if member is not head] for sequence in sequences]
    return tuple(result[:MAX_ORDER])


def descendants(of: ClassValue) -> Iterable[ClassValue]:
    """Yield the classes below *of*, each once."""
    seen = {of.number}
    stack = list(of.subclasses)
    while stack:
        member = stack.pop()
        if member.number not in seen:
            seen.add(member.number)
            yield member
            stack.extend(member.subclasses)


def _forget_orders(flow: Flow, of: ClassValue) -> None:
    changed = [of, *descendants(of)]
    for member in changed:
        member.order = None
    for member in changed:
        # What was linked by the order before stays linked: values are never taken back.
        for name, lookup in list(member.of_instance.items()):
            _link_lookup(flow, lookup, name)
        for name, lookup in list(member.of_class.items()):
            _link_lookup(flow, lookup, name)


def defines(of: ClassValue, name: str) -> bool:
    """Return whether a class of the repository in the lookup order of *of* binds *name* in its body."""
    return any(name in member.defined for member in order(of))


def instance_lookup(flow: Flow, of: ClassValue, name: str) -> Lookup:
    """Return the lookup of the attribute *name* of an instance."""
    lookup = of.of_instance.get(name)
    if lookup is None:
        lookup = of.of_instance[name] = Lookup(flow.graph.node(), of, is_class=False)
        _link_lookup(flow, lookup, name)
    return lookup


def class_lookup(flow: Flow, of: ClassValue, name: str) -> Lookup:
    """Return the lookup of the attribute *name* of the class itself."""
    lookup = of.of_class.get(name)
    if lookup is None:
        lookup = of.of_class[name] = Lookup(flow.graph.node(), of, is_class=True)
        _link_lookup(flow, lookup, name)
    return lookup


def super_lookup(flow: Flow, start: ClassValue, receiver: ClassValue, name: str, *, is_class: bool) -> Lookup:
    """Return the lookup of the attribute *name* in the classes that follow *start* in the order of *receiver*."""
    key = (start.number, receiver.number, name, is_class)
    lookup = flow.supers.get(key)
    if lookup is None:
        lookup = flow.supers[key] = Lookup(flow.graph.node(), receiver, is_class)
        members = order(receiver)
        after = members[members.index(start) + 1 :] if start in members else ()
        _link_defined(flow, lookup, name, after)
    return lookup


def field_node(flow: Flow, of: ClassValue, name: str) -> int:
    """Return the node of what is set as *name* on instances of exactly this class."""
    node = of.fields.get(name)
    if node is None:
        node = of.fields[name] = flow.graph.node()
        _need_stores(flow, of, name)
    return node


def class_attribute_node(flow: Flow, of: ClassValue, name: str) -> int:
    """Return the node of what is set as *name* on the class, from outside its body."""
    node = of.own_names.get(name)
    if node is None:
        node = of.own_names[name] = flow.graph.node()
    return node


def _need_stores(flow: Flow, of: ClassValue, name: str) -> None:
    """Read the methods that set *name*, where not everything is read."""
    if flow.is_whole:
        return
    for scope in of.frame.module.scopes:
        if scope.parent is of.frame.scope and name in scope.self_stores:
            need_name(flow, of.frame, scope.name)
            flow.wanted_methods.append((of, scope.name))


def _link_lookup(flow: Flow, lookup: Lookup, name: str) -> None:
    of, members = lookup.of, order(lookup.of)
    if not lookup.is_class:
        for member in members:
            _link_once(flow, lookup, field_node(flow, member, name))
    _link_defined(flow, lookup, name, members)
    if lookup.is_class and not defines(of, name):
        for metaclass in of.metaclasses:
            definer = next((member for member in order(metaclass) if name in member.defined), None)
            if definer is not None:
                _bind_once(flow, lookup, _body_node(flow, definer, name), is_metaclass=True)


def _link_defined(flow: Flow, lookup: Lookup, name: str, members: Iterable[ClassValue]) -> None:
    for member in members:
        _bind_once(flow, lookup, class_attribute_node(flow, member, name))
        if name in member.defined:
            _bind_once(flow, lookup, _body_node(flow, member, name))
            return


def _body_node(flow: Flow, of: ClassValue, name: str) -> int:
    need_name(flow, of.frame, name)
    return of.frame.first_node + of.frame.scope.names[name]


def _link_once(flow: Flow, lookup: Lookup, source: int) -> None:
    if source not in lookup.linked:
        lookup.linked.add(source)
        flow.graph.link(source, lookup.node)


def _bind_once(flow: Flow, lookup: Lookup, source: int, *, is_metaclass: bool = False) -> None:
    if source in lookup.linked:
        return
    lookup.linked.add(source)
    # A class is to its metaclass what an instance is to its class.
    receiver = lookup.of.number if is_metaclass or lookup.is_class else instance_of(flow, lookup.of) >> 2
    is_bound = is_metaclass or not lookup.is_class
    flow.graph.watch(source, lambda token: _bind(flow, lookup, token, receiver if is_bound else None))


def _bind(flow: Flow, lookup: Lookup, token: int, receiver: int | None) -> None:
    """Let *lookup* hold what reading a class's attribute, which holds *token*, gives; of *receiver*, if bound."""
    found, reason, of = flow.value_of(token), token & 3, lookup.of
    if isinstance(found, FunctionValue):
        token = _bound_function(flow, of, found, receiver) | reason
    elif isinstance(found, WrappedValue):
        token = _unwrapped(flow, of, found) | reason
    elif _is_getter(found, is_class=lookup.is_class):
        _add_getter(lookup, token)
        return
    # `Color.RED` is a member of the enumeration, whatever its body assigns.
    elif lookup.is_class and isinstance(found, TextValue | OutsideValue | ContainerValue) and is_enumeration(of):
        token = instance_of(flow, of) | reason
    flow.graph.add(lookup.node, token)


def _is_getter(found: Value, *, is_class: bool) -> bool:
    if isinstance(found, PropertyValue):
        return not is_class
    return isinstance(found, InstanceValue) and defines(found.of, "__get__")


def _bound_function(flow: Flow, of: ClassValue, found: FunctionValue, receiver: int | None) -> int:
    if found.scope.is_class_method:
        return bound(flow, found, of.number)
    if found.scope.is_static or receiver is None:
        return found.number << 2
    return bound(flow, found, receiver)


def _unwrapped(flow: Flow, of: ClassValue, found: WrappedValue) -> int:
    function = flow.values[found.function]
    if found.kind == "classmethod" and isinstance(function, FunctionValue):
        return bound(flow, function, of.number)
    return found.function << 2


def _add_getter(lookup: Lookup, token: int) -> None:
    if token not in lookup.getters:
        lookup.getters.append(token)
        for reader in tuple(lookup.readers):
            reader(token)


def is_enumeration(of: ClassValue) -> bool:
    """Return whether the class is an enumeration, in which names stand for instances."""
    return any(
        base.startswith("enum.") or base.endswith("Enum") for member in order(of) for base in member.outside_bases
    )


def has_outside_base(of: ClassValue) -> bool:
    """Return whether attributes of the class may come from a base that the repository does not define."""
    return any(member.outside_bases.keys() - {"builtins.object"} for member in order(of))
