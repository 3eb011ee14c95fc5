"""The imports between modules."""

from __future__ import annotations

from collections.abc import Iterator

from rolecall_analysis.modules import find_module, is_package, join_location, location_of, module_names, split_location
from rolecall_analysis.queries.candidates import candidates
from rolecall_analysis.resolution.foreign import foreign_imports, is_foreign
from rolecall_analysis.snapshot import Snapshot
from rolecall_analysis.values import FileFacts, Import


def importers(snapshot: Snapshot, path: str) -> tuple[str, ...]:
    """Return the files with an import statement that names the module *path*, in alphabetical order."""
    if is_foreign(path):
        return snapshot.derived(_foreign_importers, _foreign_importers).get(path, ())
    location = location_of(path)
    return tuple(
        facts.path
        for facts in _may_import(snapshot, location)
        if facts.path != path
        and any(
            _may_name(imported, location) and location in imported_locations(snapshot, facts.path, imported)
            for imported in facts.imports
        )
    )


def import_graph(snapshot: Snapshot, package: str = "") -> dict[str, set[str]]:
    """Return every module below the folder *package*, and the modules below it that it names in import statements.

    Modules have the dotted names they are imported by. ``from a import b`` names ``a.b`` if that is a module,
    otherwise ``a``; ``import a.b`` names ``a.b`` alone; conditional imports and those in functions count.
    """
    names = {
        location: known[0]
        for location, path in snapshot.modules.files.items()
        if (not package or location == package or location.startswith(f"{package}/"))
        and (known := module_names(snapshot.modules, path))  # the root folder's own `__init__` has no name
    }
    graph: dict[str, set[str]] = {name: set() for name in names.values()}
    for location, name in names.items():
        facts = snapshot.files[snapshot.modules.files[location]]
        for imported in facts.imports:
            found = imported_locations(snapshot, facts.path, imported)
            graph[name].update(names[target] for target in found if target in names and target != location)
    return graph


def imported_locations(snapshot: Snapshot, path: str, imported: Import) -> tuple[str, ...]:
    """Return the Python modules that an import names: in ``from a import b`` it is ``a``, unless ``b`` is its
    submodule.
    """
    source = None if is_foreign(path) else find_module(snapshot.modules, path, imported.module, imported.level)
    if source is None:
        return ()
    if imported.name is None or imported.is_star:
        return (source,)
    submodule = join_location(source, imported.name)
    return (submodule,) if submodule in snapshot.modules.files else (source,)


def _foreign_importers(snapshot: Snapshot) -> dict[str, tuple[str, ...]]:
    """Return the files that import each file of another language than Python."""
    found: dict[str, dict[str, None]] = {}
    for path in sorted(filter(is_foreign, snapshot.files)):
        for imported in snapshot.files[path].imports:
            for target in foreign_imports(snapshot, path, imported):
                if target != path:
                    found.setdefault(target, {})[path] = None
    return {target: tuple(paths) for target, paths in found.items()}


def _may_name(imported: Import, location: str) -> bool:
    """Return whether the import could name the module at *location*, by its words alone: cheaper than following it."""
    name = split_location(location)[1]
    # `from . import price` names its package without a word of it.
    return imported.module.endswith(name) or imported.name == name or not imported.module


def _may_import(snapshot: Snapshot, location: str) -> Iterator[FileFacts]:
    """Yield the files whose words, or whose place in a package, allow them to import the module at *location*."""
    name = split_location(location)[1]
    found = {facts.path for facts in candidates(snapshot, (name,))}
    if is_package(snapshot.modules, location):
        # `from . import price` names the package without a word of it.
        found.update(path for path in snapshot.files if path.startswith(f"{location}/") or not location)
    for path in sorted(found):
        yield snapshot.files[path]
