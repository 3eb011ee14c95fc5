"""Modules of the repository: read when they are needed, and what their names are."""

from __future__ import annotations

import builtins

from rolecall_analysis.flow.code import FlowScope, ModuleCode
from rolecall_analysis.flow.graph import MERGED
from rolecall_analysis.flow.state import Flow, outside_named
from rolecall_analysis.flow.values import Frame, ModuleValue
from rolecall_analysis.modules import exists, find_module, find_sibling, join_location, location_of

_BUILTINS = frozenset(dir(builtins))


def module_frame(flow: Flow, location: str) -> Frame | None:
    """Return the frame of the module at *location*, or of a hidden file at its path, as `place_of` says.

    None for a namespace package or a file that cannot be read.
    """
    frame = flow.modules.get(location)
    if frame is not None:
        return frame
    code = flow.read_code(flow.tree.files.get(location, location))
    if code is None:
        return None
    flow.codes[code.path] = code
    frame = flow.modules[location] = new_frame(flow, code, code.scopes[0], None)
    if flow.is_whole:
        run_frame(flow, frame)
    return frame


def place_of(flow: Flow, path: str) -> str:
    """Return the location of the file *path*; return the path itself where another file hides it, as a stub hides
    ``shop.py``.
    """
    location = location_of(path)
    return location if flow.tree.files.get(location, path) == path else path


def new_frame(flow: Flow, code: ModuleCode, scope: FlowScope, parent: Frame | None, n_deep: int = 0) -> Frame:
    """Return a frame of *scope* whose steps have not run."""
    return Frame(code, scope, parent, flow.graph.nodes(scope.n_variables), n_deep)


def run_frame(flow: Flow, frame: Frame) -> None:
    """Run all that has not run of *frame*."""
    if frame.has_run:
        return
    frame.has_run = True
    flow.frames.append(frame)
    for place, block in enumerate(frame.scope.blocks):
        if place not in frame.ran_blocks:
            frame.ran_blocks.add(place)
            flow.run_block(flow, frame, block)


def module_value(flow: Flow, location: str) -> int:
    """Return the token of a module."""
    return flow.intern(("module", location), lambda number: ModuleValue(number, location)) << 2


def global_name(flow: Flow, code: ModuleCode, name: str) -> int:
    """Return the node of a name that a scope of the module *code* takes from the module, or from the builtins."""
    return member(flow, place_of(flow, code.path), name, is_inside=True)


def member(flow: Flow, location: str, name: str, is_inside: bool = False) -> int:
    """Return the node of a module's name: what it binds, imports with a star, or has as a submodule.

    Seen from *inside*, a name may also be a builtin.
    """
    # No name begins with `<` or `=` (below): three kinds of nodes share one dictionary.
    key = (location, f"<{name}" if is_inside else name)
    node = flow.members.get(key)
    if node is not None:
        return node
    # Known before it is linked: modules that import each other in a circle come back here.
    node = flow.members[key] = flow.graph.node()
    frame = module_frame(flow, location)
    is_bound = frame is not None and _link_own_name(flow, frame, name, node)
    is_bound = (frame is not None and _link_starred(flow, frame, location, name, node)) or is_bound
    if is_bound:
        return node
    if is_inside:
        if name in _BUILTINS:
            flow.graph.add(node, outside_named(flow, f"builtins.{name}"))
        flow.graph.link(assigned_elsewhere(flow, location, name), node)
        return node
    below = join_location(location, name)
    if exists(flow.tree, below):
        flow.graph.add(node, module_value(flow, below))
    flow.graph.link(assigned_elsewhere(flow, location, name), node)
    return node


def assigned_elsewhere(flow: Flow, location: str, name: str) -> int:
    """Return the node of what functions, or other modules, assign to a module's name."""
    key = (location, f"={name}")
    node = flow.members.get(key)
    if node is None:
        node = flow.members[key] = flow.graph.node()
    return node


def _link_own_name(flow: Flow, frame: Frame, name: str, node: int) -> bool:
    if name not in frame.scope.bound:
        return False
    need_name(flow, frame, name)
    flow.graph.link(frame.first_node + frame.scope.names[name], node)
    flow.graph.link(assigned_elsewhere(flow, place_of(flow, frame.module.path), name), node)
    return True


def _link_starred(flow: Flow, frame: Frame, location: str, name: str, node: int) -> bool:
    is_found = False
    for module, level in frame.module.stars:
        target = find_module(flow.tree, frame.module.path, module, level)
        if target is None or target == location or not _exports(flow, target, name, set()):
            continue
        flow.graph.link(member(flow, target, name), node)
        is_found = True
    return is_found


def _exports(flow: Flow, location: str, name: str, seen: set[str]) -> bool:
    """Return whether ``from location import *`` brings *name*."""
    waiting = [location]
    while waiting:
        place = waiting.pop()
        if place in seen or (frame := module_frame(flow, place)) is None:
            continue
        seen.add(place)
        exported = frame.module.exported
        if exported is not None:
            if name in exported:
                return True
            if place == location:
                return False
            continue
        if name.startswith("_"):
            continue
        if name in frame.scope.bound:
            return True
        targets = (find_module(flow.tree, frame.module.path, module, level) for module, level in frame.module.stars)
        waiting.extend(target for target in targets if target is not None)
    return False


def need_name(flow: Flow, frame: Frame, name: str) -> None:
    """See to it that the statements of a module or class body that say what *name* is are read."""
    if frame.has_run:
        return
    waiting, seen = [name], {name}
    while waiting:
        wanted = waiting.pop()
        for place, block in enumerate(frame.scope.blocks):
            # A statement that binds nothing may still add to what the name holds: `handlers.append(f)`.
            if place in frame.ran_blocks or (wanted not in block.binds and (block.binds or wanted not in block.uses)):
                continue
            frame.ran_blocks.add(place)
            flow.run_block(flow, frame, block)
            fresh = {used for used in block.uses if used in frame.scope.bound} - seen
            seen |= fresh
            waiting.extend(fresh)


def run_import(flow: Flow, frame: Frame, target: int, step: tuple[str, int, str | None]) -> None:
    """Let the node *target* hold what an import of (module, level, name) binds."""
    module, level, name = step
    location = find_module(flow.tree, frame.module.path, module, level)
    if location is None and not level and (sibling := find_sibling(flow.tree, frame.module.path, module)):
        # Only where the file is run as a script.
        if name is None:
            flow.graph.add(target, module_value(flow, sibling) | MERGED)
        else:
            flow.graph.link_because(member(flow, sibling, name), target, MERGED)
    elif location is None:
        dotted = f"{module}.{name}" if name else module
        flow.graph.add(target, outside_named(flow, dotted))
    elif name is None:
        flow.graph.add(target, module_value(flow, location))
    elif location == place_of(flow, frame.module.path) and exists(flow.tree, below := join_location(location, name)):
        # A package that imports its own submodule: the name it binds is that module.
        flow.graph.add(target, module_value(flow, below))
    else:
        flow.graph.link(member(flow, location, name), target)
