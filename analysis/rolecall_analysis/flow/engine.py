"""Following values to the end: through a whole program, or as far as one question needs."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from rolecall_analysis.flow.calling.calls import call
from rolecall_analysis.flow.calling.functions import frame_of
from rolecall_analysis.flow.classes import new_class
from rolecall_analysis.flow.code import FlowScope, ModuleCode
from rolecall_analysis.flow.edges import forget_vague_calls
from rolecall_analysis.flow.frames import function_value, run_block
from rolecall_analysis.flow.graph import PROMISED
from rolecall_analysis.flow.program import module_frame, need_name, place_of, run_frame
from rolecall_analysis.flow.receivers.certainty import doubt_choices, doubt_parameters
from rolecall_analysis.flow.receivers.guesses import guess_calls
from rolecall_analysis.flow.receivers.overrides import add_overrides
from rolecall_analysis.flow.state import Flow, instance_of, something_outside
from rolecall_analysis.flow.values import ClassValue, Frame, OutsideValue
from rolecall_analysis.modules import ModuleTree

MAX_STEPS_WHOLE = 30_000_000
"""Values passed on, for a whole program; what has not been found by then is left out."""
MAX_STEPS_ASKED = 50_000
"""The same for one question of an editor: a fraction of a second."""
MAX_FRAMES_ASKED = 250
"""Functions read for one question of an editor."""
MAX_DEPTH = 3
"""The number of calls from what was asked for, up to which functions are read."""

ReadCode = Callable[[str], ModuleCode | None]


def new_flow(tree: ModuleTree, read_code: ReadCode, is_whole: bool) -> Flow:
    """Return a flow in which nothing has been read."""
    return Flow(tree, read_code, run_block, call, is_whole, MAX_DEPTH)


def follow_everything(flow: Flow, locations: Iterable[str]) -> None:
    """Read the modules at *locations*, and follow all their values."""
    for location in locations:
        module_frame(flow, location)
    _follow(flow, MAX_STEPS_WHOLE)
    forget_vague_calls(flow)
    doubt_choices(flow)
    doubt_parameters(flow)
    add_overrides(flow)
    by_name: dict[str, list[tuple[ModuleCode, FlowScope]]] = {}
    for frame in flow.modules.values():
        for scope in frame.module.scopes:
            if scope.kind == "function":
                by_name.setdefault(scope.name, []).append((frame.module, scope))
    # Last, because it guesses only where all the rest found nothing.
    guess_calls(flow, lambda name: by_name.get(name, ()))


def follow_scopes(flow: Flow, asked: Iterable[tuple[ModuleCode, FlowScope]]) -> None:
    """Follow the values of some scopes, and what they need of others, within the limits of one question."""
    for code, scope in asked:
        frame = scope_frame(flow, code, scope)
        if frame is not None:
            run_frame(flow, frame)
    _follow(flow, flow.graph.n_steps + MAX_STEPS_ASKED)


def scope_frame(flow: Flow, code: ModuleCode, scope: FlowScope) -> Frame | None:
    """Return the frame of a scope, inside the frames of what encloses it."""
    chain: list[FlowScope] = []
    above: FlowScope | None = scope
    while above is not None:
        chain.append(above)
        above = above.parent
    frame = module_frame(flow, place_of(flow, code.path))
    if frame is None or frame.module is not code:
        return None
    for inner in reversed(chain[:-1]):
        if inner.name in frame.scope.bound and frame.scope.kind != "function":
            # The statement that defines it is run first: it alone knows the defaults.
            need_name(flow, frame, inner.name)
        if inner.kind == "class":
            frame = new_class(flow, frame.module, inner, frame).frame
        else:
            frame = frame_of(flow, function_value(flow, frame, inner.index, ()), 0)
    return frame


def _follow(flow: Flow, max_steps: int) -> None:
    _settle(flow, max_steps)
    # What a promise brings may need further keys and promises.
    for _ in range(3):
        _use_unknown_keys(flow)
        if not _keep_promises(flow) and not flow.graph.queue:
            break
        _settle(flow, max_steps)


def _use_unknown_keys(flow: Flow) -> None:
    waiting, flow.unknown_keys = flow.unknown_keys, []
    for node, act in waiting:
        if not flow.graph.held[node]:
            act(None)


def _settle(flow: Flow, max_steps: int) -> None:
    while flow.graph.settle(max_steps) and (flow.waiting or flow.wanted_methods):
        while flow.wanted_methods:
            of, name = flow.wanted_methods.popleft()
            _want_method(flow, of, name)
        while flow.waiting:
            frame = flow.waiting.popleft()
            if flow.is_whole or len(flow.frames) < MAX_FRAMES_ASKED:
                run_frame(flow, frame)


def _want_method(flow: Flow, of: ClassValue, name: str) -> None:
    for scope in of.frame.module.scopes:
        if scope.parent is of.frame.scope and scope.name == name:
            # As deep as can be: wanted is what it assigns, and not what it calls.
            frame_of(flow, function_value(flow, of.frame, scope.index, ()), flow.max_depth)


def _keep_promises(flow: Flow) -> bool:
    """Let variables of which nothing is known for sure be what annotations promise; whether there was one."""
    n_before = len(flow.graph.queue)
    held = flow.graph.held
    for target, promised in flow.promises:
        if any(not token & 3 for token in held[target]):
            continue
        for token in tuple(held[promised]):
            of = flow.value_of(token)
            if isinstance(of, ClassValue):
                flow.graph.add(target, instance_of(flow, of) | PROMISED)
            elif isinstance(of, OutsideValue):
                flow.graph.add(target, something_outside(flow) | PROMISED)
    return len(flow.graph.queue) > n_before
