"""The imports, attributes and calls of one file that name what is not there, in the versions that are installed."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from rolecall_analysis import Definition
from rolecall_analysis.installed.classes import lineage_of
from rolecall_analysis.installed.search_path import CodeModule
from rolecall_analysis.installed.world import World
from rolecall_analysis.queries.arguments.constructors import constructor_among, is_plain_decorator
from rolecall_analysis.queries.arguments.parameters import Arguments, misfit, parameters_of
from rolecall_server.review.names.checked_file import CheckedFile, WrongName, read_checked
from rolecall_server.review.names.inference import Inference
from rolecall_server.review.names.scopes import NameScope
from rolecall_server.review.names.unheard import unheard_names
from rolecall_server.review.names.values import Absent, FunctionOf, Known, ObjectOf

_QUOTED = re.compile(r"'(\w+)'")
# Python passes the class to these, although no decorator says so.
_IMPLICIT_CLASS_METHODS = frozenset({"__init_subclass__", "__class_getitem__", "__new__"})


def wrong_names(
    world: World, path: str, inference: Inference | None = None, changed: Collection[str] = ()
) -> tuple[WrongName, ...]:
    """Return the wrong names in the Python file *path* of *world*, in order; *changed* are the files of the change.

    Nothing is said of code that is made for other versions too, or that is expected to fail, and of a file that
    does not parse.
    """
    reading = read_checked(world, path, inference or Inference(world))
    if reading is None:
        return ()
    found = [*_wrong_imports(reading), *_wrong_attributes(reading), *_wrong_calls(reading)]
    found = [replace(one, after=tuple(_after(reading, one))) for one in found]
    told = {(one.line, name) for one in found for name in (one.name.rpartition(".")[2], *_QUOTED.findall(one.reason))}
    after = {line for one in found for line in one.after}
    unheard = unheard_names(reading, changed)
    found += [one for one in unheard if (one.line, one.name) not in told and one.line not in after]
    return tuple(sorted(dict.fromkeys(found), key=lambda one: (one.line, one.name)))


def _after(reading: CheckedFile, wrong: WrongName) -> list[int]:
    """Return the lines that use what comes of *wrong*, and so could not be checked."""
    if wrong.kind not in ("import", "attribute"):
        return []
    origin = Absent(reading.reader.module.path, wrong.line, wrong.name.rpartition(".")[2])
    return sorted(set(reading.lines_after.get(origin, ())))


def _wrong_imports(reading: CheckedFile) -> Iterator[WrongName]:
    world, importer = reading.world, reading.reader.module
    for node in reading.nodes:
        if isinstance(node, ast.Import):
            for one in node.names:
                if lacks_module(world, importer, one.name):
                    yield _missing_module(reading, node, one.name)
        elif isinstance(node, ast.ImportFrom):
            source = world.find(importer, node.module or "", node.level)
            if source is None:
                if lacks_module(world, importer, node.module or "", node.level):
                    yield _missing_module(reading, node, node.module or "")
                continue
            for one in node.names:
                if one.name != "*" and _lacks(reading, source, one.name):
                    yield WrongName("import", one.lineno - 1, one.name, source, certain=True)


def _missing_module(reading: CheckedFile, node: ast.stmt, name: str) -> WrongName:
    """Return the finding; it is certain of a package that is there, and where the file cannot be imported without."""
    is_there = reading.world.find(reading.reader.module, name.partition(".")[0]) is not None
    return WrongName("module", node.lineno - 1, name, None, certain=is_there or node in reading.tree.body)


def lacks_module(world: World, importer: CodeModule, name: str, level: int = 0) -> bool:
    """Return whether ``import name`` in *importer* certainly fails, as nothing of that name is installed."""
    search = world.installed.search_path
    if level or not name or not search.is_whole or world.find(importer, name) is not None:
        return False
    head, _, rest = name.partition(".")
    nearest = world.find(importer, head)
    if nearest is None:
        return not world.may_be_beside(importer, head)
    for part in rest.split("."):
        following = world.submodule(nearest, part)
        if following is None:
            return not nearest.is_own and _shows_submodules(world, nearest)
        nearest = following
    return False


def _shows_submodules(world: World, module: CodeModule) -> bool:
    if not module.path:
        return module.kind == "namespace"
    # A package with such code may make modules while it is imported: its files do not tell which there are.
    return (
        re.search(r"\bsys\.modules\b|\b__path__\b|\bglobals\s*\(|meta_path|\bexec\b", world.text(module.path)) is None
    )


def _wrong_attributes(reading: CheckedFile) -> Iterator[WrongName]:
    for node in reading.nodes:
        if not isinstance(node, ast.Attribute) or not isinstance(node.ctx, ast.Load) or node.attr.startswith("__"):
            continue
        # Whatever the file itself sets on something may also be set on this.
        if node.attr in reading.assigned:
            continue
        holders = reading.inference.values(reading.reader, node.value)
        if holders and not _is_checked(reading, node.value) and all(_lacks(reading, one, node.attr) for one in holders):
            certain = not any(isinstance(one, ObjectOf) and not one.is_exact for one in holders)
            # Of a chain over several lines, the attribute stands on the last one.
            line = (node.end_lineno or node.lineno) - 1
            yield WrongName("attribute", line, f"{_written(node.value)}.{node.attr}", holders[0], certain)


def _written(node: ast.expr) -> str:
    text = ast.unparse(node)
    return text if len(text) <= 40 else f"{text[:37]}..."


def _is_checked(reading: CheckedFile, node: ast.expr) -> bool:
    """Return whether the code around *node* looks at the type of what it reads, or at that of what holds this."""
    scope = reading.reader.scopes.of.get(node)
    if not any(one.checked for one in _around(scope)):
        return False
    written = {ast.unparse(one) for one in ast.walk(node) if isinstance(one, ast.Name | ast.Attribute | ast.Call)}
    return any(written & one.checked for one in _around(scope))


def _around(scope: NameScope | None) -> Iterator[NameScope]:
    while scope is not None:
        yield scope
        scope = scope.parent


def _lacks(reading: CheckedFile, holder: Known, name: str) -> bool:
    world = reading.world
    found = reading.inference.held_by(holder, name)
    if found is None or not found.is_missing:
        return False
    if isinstance(holder, CodeModule):
        return not _is_given(world, [holder.path], name)
    definition = holder.definition if isinstance(holder, ObjectOf) else holder
    if not isinstance(definition, Definition):
        return False
    paths = [one.path for _, one in lineage_of(world, definition).classes]
    # It may be an object of a subclass, which has more than the class that the annotation names.
    if isinstance(holder, ObjectOf) and not holder.is_exact and _is_defined_near(world, paths, name):
        return False
    return not _is_given(world, paths, name)


def _is_given(world: World, paths: Iterable[str], name: str) -> bool:
    """Return whether something of that name is assigned to something in the packages that *paths* lie in."""
    stored = re.compile(
        rf"\.{re.escape(name)}\b\s*(?::[^=\n]{{1,80}})?=(?!=)|setattr\([^)\n]{{1,80}}[\"']{re.escape(name)}[\"']"
    )
    return any(stored.search(text) for text in _texts(world, paths, name))


def _is_defined_near(world: World, paths: Iterable[str], name: str) -> bool:
    """Return whether something of that name is defined in the packages that *paths* lie in, or in the repository."""
    defined = re.compile(
        rf"\bdef\s+{re.escape(name)}\b|^[ \t]++{re.escape(name)}\s*[:=]|\.{re.escape(name)}\s*[:=]", re.MULTILINE
    )
    own = (world.snapshot.text(path) or "" for path in world.snapshot.mentioning(name))
    return any(defined.search(text) for text in (*_texts(world, paths, name), *own))


def _texts(world: World, paths: Iterable[str], name: str) -> Iterator[str]:
    """Yield the texts that say *name* of the packages that *paths* lie in."""
    packages = dict.fromkeys(world.installed.package_of(path) for path in paths if path not in world.snapshot.files)
    for package in filter(None, packages):
        if world.installed.mentions(package, name):
            yield world.installed.content(package).decode("utf-8", "replace")
    if any(path in world.snapshot.files for path in paths):
        yield from (world.snapshot.text(path) or "" for path in world.snapshot.mentioning(name))


def _wrong_calls(reading: CheckedFile) -> Iterator[WrongName]:
    for node in reading.nodes:
        if not isinstance(node, ast.Call) or _is_checked(reading, node.func):
            continue
        callees = reading.inference.values(reading.reader, node.func)
        misfits = [_misfit(reading, one, node) for one in callees or ()]
        if callees and all(misfits) and misfits[0] is not None:
            reached, reason = misfits[0]
            certain = all(_is_exact(one) for one in callees)
            header = " ".join(reached.signature.split())
            line = _line_of_fault(node, reason)
            yield WrongName("call", line, _written(node.func), callees[0], certain, reason, header)


def _line_of_fault(node: ast.Call, reason: str) -> int:
    faulty = next((one for one in node.keywords if one.arg in _QUOTED.findall(reason)), None)
    return (faulty.value.lineno if faulty is not None else node.lineno) - 1


def _is_exact(callee: Known) -> bool:
    if not isinstance(callee, FunctionOf):
        return True
    return not isinstance(callee.receiver, ObjectOf) or callee.receiver.is_exact


def _misfit(reading: CheckedFile, callee: Known, node: ast.Call) -> tuple[Definition, str] | None:
    """Return the function that the call reaches, and why it cannot take the arguments; None where it may."""
    arguments = _arguments(node)
    world = reading.world
    match callee:
        case Definition(kind="class"):
            found = lineage_of(world, callee)
            is_whole = found.is_known and not found.builtin
            constructor = constructor_among(found.classes, callee, is_whole=is_whole) if found.is_known else None
            if constructor is None:
                return None
            reason = misfit(constructor.parameters, arguments, constructor.n_bound)
            return (constructor.definition, reason) if reason else None
        case FunctionOf(definition=definition, receiver=receiver):
            facts = world.facts(definition.path)
            if not all(is_plain_decorator(facts, one) for one in definition.decorators):
                return None
            parameters = parameters_of(definition.signature)
            reason = misfit(parameters, arguments, _n_bound(definition, receiver)) if parameters is not None else None
            return (definition, reason) if reason else None
        case _:
            return None


def _n_bound(definition: Definition, receiver: ObjectOf | Definition | None) -> int:
    if definition.kind != "method" or receiver is None or "staticmethod" in definition.decorators:
        return 0
    if "classmethod" in definition.decorators or definition.name in _IMPLICIT_CLASS_METHODS:
        return 1
    return 1 if isinstance(receiver, ObjectOf) else 0


def _arguments(node: ast.Call) -> Arguments:
    given = ["*" if isinstance(one, ast.Starred) else "" for one in node.args]
    return (*given, *("**" if one.arg is None else one.arg for one in node.keywords))
