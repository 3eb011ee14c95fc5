"""Running a block of steps: each becomes nodes, links and watchers of the graph."""

from __future__ import annotations

from functools import partial

from rolecall_analysis.flow.attributes import load, store
from rolecall_analysis.flow.calling.calls import call
from rolecall_analysis.flow.calling.functions import frame_of
from rolecall_analysis.flow.classes import add_base, add_metaclass, has_outside_base, new_class, order
from rolecall_analysis.flow.code import NO_ARGUMENTS, Arguments, Block, InvokeStep
from rolecall_analysis.flow.items import enter, iterate, load_item, store_field, store_item, with_each_key
from rolecall_analysis.flow.program import assigned_elsewhere, global_name, place_of, run_import
from rolecall_analysis.flow.sites import Site, Spot
from rolecall_analysis.flow.state import Flow, a_literal, container, instance_of, text_value
from rolecall_analysis.flow.values import (
    ClassValue,
    ContainerValue,
    Frame,
    FunctionValue,
    InstanceValue,
    ModuleValue,
    OutsideValue,
    Value,
)


def run_block(flow: Flow, frame: Frame, block: Block) -> None:
    """Run the steps of *block* in *frame*."""
    base, graph = frame.first_node, flow.graph
    if not frame.is_named:
        frame.is_named = True
        _borrow_names(flow, frame)
    # In no order of the source: what comes later still reaches those who wait for it. Where the order of
    # assignments counts, reading has made a variable for each.
    for target, source in block.copies:
        graph.link(base + source, base + target)
    if block.literals:
        literal = a_literal(flow)
        for target in block.literals:
            graph.add(base + target, literal)
    for target, text in block.texts:
        graph.add(base + target, text_value(flow, text))
    _run_definitions(flow, frame, block)
    for target, module, level, name in block.imports:
        run_import(flow, frame, base + target, (module, level, name))
    _run_data(flow, frame, block)
    for result, owner, name, start, end in block.loads:
        graph.watch(base + owner, partial(load, flow, frame, (base + result, name, start, end)))
    for owner, name, source, start, end in block.stores:
        graph.watch(base + owner, partial(store, flow, frame, (name, base + source, start, end)))
    for step in block.calls:
        _run_call(flow, frame, step)


def _borrow_names(flow: Flow, frame: Frame) -> None:
    base, graph, scope = frame.first_node, flow.graph, frame.scope
    for variable, n_up, there, is_assigned in scope.borrowed:
        above: Frame | None = frame
        for _ in range(n_up):
            above = above.parent if above is not None else None
        if above is None:
            continue
        graph.link(above.first_node + there, base + variable)
        if is_assigned:
            graph.link(base + variable, above.first_node + there)
    for variable, name, is_assigned in scope.borrowed_globals:
        graph.link(global_name(flow, frame.module, name), base + variable)
        if is_assigned:
            graph.link(base + variable, assigned_elsewhere(flow, place_of(flow, frame.module.path), name))
    if scope.kind == "module":
        for name, variable in scope.names.items():
            if name not in scope.bound:
                graph.link(global_name(flow, frame.module, name), base + variable)


def _run_definitions(flow: Flow, frame: Frame, block: Block) -> None:
    base, graph = frame.first_node, flow.graph
    for target, index, defaults in block.functions:
        function = function_value(flow, frame, index, tuple((variable, base + node) for variable, node in defaults))
        graph.add(base + target, function.number << 2)
        if flow.is_whole:
            frame_of(flow, function, 0)
    for target, index, bases, metaclass in block.classes:
        made = new_class(flow, frame.module, frame.module.scopes[index], frame)
        for place, node in enumerate(bases):
            if node >= 0:
                graph.watch(base + node, partial(add_base, flow, made, place))
            else:
                made.outside_bases.setdefault("?", place)
        if metaclass >= 0:
            graph.watch(base + metaclass, partial(add_metaclass, flow, made))
        graph.add(base + target, made.number << 2)


def function_value(flow: Flow, frame: Frame, index: int, defaults: tuple[tuple[int, int], ...]) -> FunctionValue:
    """Return the function that results when the scope numbered *index* is defined in *frame*."""
    scope = frame.module.scopes[index]
    key = ("function", frame.module.path, index, frame.first_node)
    number = flow.intern(key, lambda number: FunctionValue(number, frame.module, scope, frame, defaults))
    made = flow.values[number]
    assert isinstance(made, FunctionValue)
    return made


def _run_data(flow: Flow, frame: Frame, block: Block) -> None:
    base, graph = frame.first_node, flow.graph
    for target, kind, items in block.containers:
        made = container(flow, ("container", base + target), kind)
        for key, source in items:
            store_field(flow, made, key, base + source)
        graph.add(base + target, made.number << 2)
    for result, owner, key, start, end in block.item_loads:
        spot = Spot(frame, start, end) if start >= 0 else None
        graph.watch(base + owner, partial(load_item, flow, spot, (base + result, key)))
    for owner, key, source, start, end in block.item_stores:
        spot = Spot(frame, start, end) if start >= 0 else None
        graph.watch(base + owner, partial(store_item, flow, spot, (key, base + source)))
    _run_keyed(flow, frame, block)
    for element, iterable, start, end in block.iterations:
        graph.watch(base + iterable, partial(iterate, flow, Spot(frame, start, end, base + iterable), base + element))
    for entered, manager, start, end in block.entries:
        graph.watch(base + manager, partial(enter, flow, Spot(frame, start, end, base + manager), base + entered))
    for target, kind in block.instances:
        graph.watch(base + kind, partial(_add_instance, flow, base + target))
    for target, source, kind in block.checks:
        check(flow, base + target, base + source, base + kind)
    for target, promised in block.annotations:
        flow.promises.append((base + target, base + promised))


def _run_keyed(flow: Flow, frame: Frame, block: Block) -> None:
    base, graph = frame.first_node, flow.graph
    for result, owner, key_variable, start, end in block.keyed_loads:
        spot = Spot(frame, start, end)

        # Bound as defaults: the loop has gone on when a key is found.
        def load_key(
            key: str | None, owner: int = base + owner, result: int = base + result, spot: Spot = spot
        ) -> None:
            graph.watch(owner, partial(load_item, flow, spot, (result, key)))

        with_each_key(flow, base + key_variable, load_key)
    for owner, key_variable, source, start, end in block.keyed_stores:
        spot = Spot(frame, start, end)

        def store_key(
            key: str | None, owner: int = base + owner, source: int = base + source, spot: Spot = spot
        ) -> None:
            graph.watch(owner, partial(store_item, flow, spot, (key, source)))

        with_each_key(flow, base + key_variable, store_key)


def _add_instance(flow: Flow, target: int, token: int) -> None:
    of = flow.value_of(token)
    if isinstance(of, ClassValue):
        flow.graph.add(target, instance_of(flow, of) | token & 3)


def _run_call(flow: Flow, frame: Frame, step: InvokeStep) -> None:
    base = frame.first_node
    site = Site(
        frame=frame,
        kind=step.kind,
        name=step.name,
        receiver=step.receiver,
        receiver_node=base + step.receiver_variable if step.receiver_variable >= 0 else -1,
        start=step.start,
        end=step.end,
        result=base + step.result,
        callee=base + step.callee if step.callee >= 0 else -1,
        arguments=_as_nodes(base, step.arguments) if step.arguments else NO_ARGUMENTS,
        decided_by=(base + step.callee,) if step.callee >= 0 else (),
    )
    if site.receiver_node >= 0 and step.kind == "call":
        flow.sites.append(site)
    if step.callee >= 0:
        flow.graph.watch(site.callee, partial(call, flow, site))


def _as_nodes(base: int, given: Arguments) -> Arguments:
    """Return the variables of *given* as nodes of a frame whose first node is *base*."""

    def nodes(variables: tuple[int, ...]) -> tuple[int, ...]:
        return tuple([base + variable if variable >= 0 else -1 for variable in variables])

    return Arguments(
        nodes(given.positional),
        nodes(given.starred),
        tuple([(name, base + variable if variable >= 0 else -1) for name, variable in given.keywords]),
        nodes(given.double_starred),
        given.texts,
    )


def check(flow: Flow, target: int, source: int, kind: int) -> None:
    """Let the node *target* have what *source* holds of the classes that *kind* holds.

    Where nothing is known of *source*, the check promises an instance.
    """
    kinds: list[Value] = []
    tokens: list[int] = []

    # Classes and values come in any order: each new one is held against all that are there of the other.
    def add_kind(token: int) -> None:
        found = flow.value_of(token)
        if isinstance(found, ContainerValue):
            flow.promises.append((target, found.every))
            flow.graph.watch(found.every, add_kind)
        elif isinstance(found, ClassValue | OutsideValue) and found not in kinds:
            kinds.append(found)
            for held in tokens:
                if _passes(flow.value_of(held), found):
                    flow.graph.add(target, held)

    def add_token(token: int) -> None:
        tokens.append(token)
        found = flow.value_of(token)
        if any(_passes(found, one) for one in kinds):
            flow.graph.add(target, token)

    flow.promises.append((target, kind))
    flow.graph.watch(kind, add_kind)
    flow.graph.watch(source, add_token)


def _passes(found: Value, kind: Value) -> bool:
    """Return whether *found* may be an instance of *kind*, a class of the repository or from outside."""
    if isinstance(kind, ClassValue):
        return isinstance(found, InstanceValue) and (kind in order(found.of) or _is_from_outside(found))
    if isinstance(found, InstanceValue):
        return has_outside_base(found.of)
    return isinstance(found, OutsideValue | ContainerValue | FunctionValue | ClassValue | ModuleValue)


def _is_from_outside(found: InstanceValue) -> bool:
    return any("?" in member.outside_bases for member in order(found.of))
