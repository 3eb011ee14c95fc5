"""Frames of functions, and how arguments reach parameters."""

from __future__ import annotations

from rolecall_analysis.flow.code import RETURNED, ParameterVariable
from rolecall_analysis.flow.edges import note_call
from rolecall_analysis.flow.graph import GUESSED, weakened
from rolecall_analysis.flow.items import load_item, spread_into, store_field
from rolecall_analysis.flow.program import new_frame
from rolecall_analysis.flow.sites import Site
from rolecall_analysis.flow.state import Flow, container, instance_of
from rolecall_analysis.flow.values import ContainerValue, Frame, FunctionValue, GeneratorValue

MAX_COPIES = 256
"""Frames of one function for single calls; further calls share one."""
MAX_COPIES_DEEP = 3
"""Calls within calls that have frames of their own."""
MAX_COPIED_NODES = 1_000_000
"""Variables in such frames, in all."""
MAX_RECEIVERS = 16
"""The classes whose instances a method is followed for; of more, only its own."""


def call_function(flow: Flow, site: Site, function: FunctionValue, receiver: int | None, reason: int) -> None:
    """Call a function at *site*, with the value numbered *receiver*, if any, as first argument."""
    note_call(flow, site, function.module, function.scope, reason)
    if not flow.is_whole and site.frame.n_deep >= flow.max_depth:
        return
    frame = _frame_for(flow, site, function)
    # A guess passes nothing on: one wrong guess would make up values everywhere behind it.
    if reason < GUESSED:
        _pass_arguments(flow, site, frame, receiver, reason)
    if function.scope.is_generator:
        key = ("generator", frame.first_node)
        made = flow.intern(key, lambda number: GeneratorValue(number, frame))
        flow.graph.add(site.result, made << 2 | reason)
    else:
        flow.graph.link_because(frame.first_node + RETURNED, site.result, reason)


def frame_of(flow: Flow, function: FunctionValue, n_deep: int) -> Frame:
    """Return the frame of a function; the first time, set up its parameters and let its body wait to run."""
    if function.frame is None:
        function.frame = _open_frame(flow, function, n_deep)
    return function.frame


def _frame_for(flow: Flow, site: Site, function: FunctionValue) -> Frame:
    """Return the frame in which a call runs; the call has its own frame if the result depends on what it passes."""
    n_deep, caller = site.frame.n_deep + 1, site.frame
    is_shared = not function.scope.is_transparent or not site.arguments
    # A function that calls itself, in however many steps, would get a frame for each round.
    if is_shared or caller.n_copied >= MAX_COPIES_DEEP or function.scope in caller.copied:
        return frame_of(flow, function, n_deep)
    key = (caller.first_node, site.start, site.end)
    frame = function.copies.get(key)
    if frame is not None:
        return frame
    if len(function.copies) >= MAX_COPIES or flow.n_copied_nodes >= MAX_COPIED_NODES:
        return frame_of(flow, function, n_deep)
    flow.n_copied_nodes += function.scope.n_variables
    frame = function.copies[key] = _open_frame(flow, function, n_deep)
    frame.n_copied = max(frame.n_copied, caller.n_copied) + 1
    frame.copied |= caller.copied | {function.scope}
    return frame


def _open_frame(flow: Flow, function: FunctionValue, n_deep: int) -> Frame:
    frame = new_frame(flow, function.module, function.scope, function.around, n_deep)
    frame.n_copied, frame.copied = function.around.n_copied, function.around.copied
    _seed_receiver(flow, function, frame)
    for parameter in function.scope.parameters:
        if parameter.kind in ("rest", "keywords"):
            flow.graph.add(frame.first_node + parameter.variable, _gathered(flow, frame, parameter).number << 2)
    for variable, default in function.defaults:
        flow.graph.link(default, frame.first_node + variable)
    if flow.is_whole or n_deep <= flow.max_depth:
        flow.waiting.append(frame)
    return frame


def _gathered(flow: Flow, frame: Frame, parameter: ParameterVariable) -> ContainerValue:
    """Return the container that ``*args`` or ``**kwargs`` holds."""
    kind = "dict" if parameter.kind == "keywords" else "tuple"
    return container(flow, ("parameter", frame.first_node, parameter.variable), kind)


def _seed_receiver(flow: Flow, function: FunctionValue, frame: Frame) -> None:
    """Let a method run for an instance of its own class, whoever calls it."""
    of, scope = function.around.class_value, function.scope
    if of is None or not scope.parameters or scope.kind == "lambda":
        return
    first = scope.parameters[0]
    if first.kind not in ("positional", "positional only"):
        return
    if scope.is_class_method or scope.name == "__new__":
        _pass_receiver(flow, frame, first, of.number, 0)
    elif not scope.is_static:
        _pass_receiver(flow, frame, first, instance_of(flow, of) >> 2, 0)


def _pass_receiver(flow: Flow, frame: Frame, first: ParameterVariable, receiver: int, reason: int) -> None:
    if receiver not in frame.receivers and len(frame.receivers) < MAX_RECEIVERS:
        frame.receivers.add(receiver)
        flow.graph.add(frame.first_node + first.variable, receiver << 2 | reason)


def _pass_arguments(flow: Flow, site: Site, frame: Frame, receiver: int | None, reason: int) -> None:
    parameters = frame.scope.parameters
    positional = [parameter for parameter in parameters if parameter.kind in ("positional", "positional only")]
    if receiver is not None:
        if positional:
            _pass_receiver(flow, frame, positional[0], receiver, reason)
        positional = positional[1:]
    _pass_positional(flow, site, frame, positional, reason)
    if not (site.arguments.keywords or site.arguments.double_starred):
        return
    by_keyword = [parameter for parameter in parameters if parameter.kind == "keyword only"]
    by_keyword += [parameter for parameter in positional if parameter.kind == "positional"]
    taken = {parameter.name for parameter in positional[: len(site.positional)]}
    _pass_keywords(flow, site, frame, [one for one in by_keyword if one.name not in taken], reason)


def _pass_positional(flow: Flow, site: Site, frame: Frame, positional: list[ParameterVariable], reason: int) -> None:
    rest = next((parameter for parameter in frame.scope.parameters if parameter.kind == "rest"), None)
    for place, argument in enumerate(site.positional):
        if argument < 0:
            continue
        if place < len(positional):
            flow.graph.link_because(argument, frame.first_node + positional[place].variable, reason)
        elif rest is not None:
            store_field(flow, _gathered(flow, frame, rest), f"{place - len(positional)}", argument, reason)
    for starred in site.arguments.starred:
        if starred < 0:
            continue
        for place, parameter in enumerate(positional[len(site.positional) :]):
            _load_from(flow, starred, (frame.first_node + parameter.variable, f"{place}"), reason)
        if rest is not None:
            element = flow.graph.node()
            _load_from(flow, starred, (element, None), reason)
            store_field(flow, _gathered(flow, frame, rest), None, element, reason)


def _pass_keywords(flow: Flow, site: Site, frame: Frame, open_parameters: list[ParameterVariable], reason: int) -> None:
    keywords = next((parameter for parameter in frame.scope.parameters if parameter.kind == "keywords"), None)
    named = {parameter.name: frame.first_node + parameter.variable for parameter in open_parameters}
    for name, argument in site.arguments.keywords:
        target = named.pop(name, None)
        if argument < 0:
            continue
        if target is not None:
            flow.graph.link_because(argument, target, reason)
        elif keywords is not None:
            store_field(flow, _gathered(flow, frame, keywords), repr(name), argument, reason)
    for spread in site.arguments.double_starred:
        if spread < 0:
            continue
        for name, target in named.items():
            _load_from(flow, spread, (target, repr(name)), reason)
        if keywords is not None:
            held = _gathered(flow, frame, keywords)
            flow.graph.watch(spread, lambda token, held=held: spread_into(flow, held, token))


def _load_from(flow: Flow, owner: int, step: tuple[int, str | None], reason: int) -> None:
    flow.graph.watch(owner, lambda token: load_item(flow, None, step, weakened(token, reason)))
