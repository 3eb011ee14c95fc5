"""The places that names come from, as import statements tell: what two modules pass on may be one thing."""

from __future__ import annotations

from dataclasses import dataclass

from rolecall_analysis import FileFacts, Import, Snapshot, facts_of, module_names
from rolecall_analysis.modules import find_module, is_package, join_location
from rolecall_analysis.resolution.exports import module_members, offers

Origin = tuple[str, str]
"""A module, by its location in the repository or else by its dotted name, and a name that it makes; empty for the
module itself."""


@dataclass(frozen=True)
class Origins:
    """The origins of names as a test file sees them."""

    snapshot: Snapshot
    path: str
    """Of the test file."""

    def of(self, source: str, name: str) -> Origin:
        """Return the origin of what ``from source import name`` binds in the test file, or ``import source``."""
        return self._followed(self.path, source, 0, name)

    def bound_in(self, text: str) -> dict[str, Origin | None]:
        """Return the names that *text*, the test file, binds at its top; None for the origin of what it makes itself,
        or takes from one of several modules.
        """
        facts = facts_of(self.path, text)
        found: dict[str, Origin | None] = {}
        for (scope, name), imports in facts.imports_by_name.items():
            if not scope and name != "*":
                origins = {self._of_import(self.path, one) for one in imports}
                found[name] = origins.pop() if len(origins) == 1 else None
        own = [*facts.definitions_by_name, *facts.local_names]
        return found | dict.fromkeys(name for scope, name in own if not scope)

    def taken_from(self, module: str, name: str) -> Origin:
        """Return the dotted source and the name by which a test imports the *name* that *module* has: from where
        *module* itself imports it, unless it passes it on as its own.
        """
        location = find_module(self.snapshot.modules, self.path, module)
        facts = self._facts(location)
        one = self._import_of(facts, name) if facts is not None else None
        if facts is None or one is None or one.alias or one.is_star:
            return module, name
        if is_package(self.snapshot.modules, location or "") or name in (facts.exported or ()):
            return module, name
        if one.name is None:
            return one.bound_name, ""
        source = one.module if not one.level else self._dotted(facts.path, one)
        is_private = any(part.startswith("_") for part in source.split("."))
        return (source, one.name) if source and not is_private else (module, name)

    def _dotted(self, path: str, one: Import) -> str:
        """Return the dotted name of the module that a relative import names; empty where it has none."""
        modules = self.snapshot.modules
        location = find_module(modules, path, one.module, one.level)
        return next(iter(module_names(modules, modules.files.get(location or "", ""))), "")

    def _facts(self, location: str | None) -> FileFacts | None:
        return None if location is None else self.snapshot.files.get(self.snapshot.modules.files.get(location, ""))

    def _of_import(self, path: str, one: Import) -> Origin:
        if one.name is None:
            return self._followed(path, one.module if one.alias else one.bound_name, 0, "")
        return self._followed(path, one.module, one.level, one.name)

    def _followed(self, path: str, module: str, level: int, name: str) -> Origin:
        seen: set[Origin] = set()
        while True:
            location = find_module(self.snapshot.modules, path, module, level)
            here = (location if location is not None else module, name)
            facts = self._facts(location)
            one = self._import_of(facts, name) if facts is not None and here not in seen else None
            if facts is None or one is None:
                return self._as_module(here)
            seen.add(here)
            if one.name is None:
                path, module, level, name = facts.path, one.module if one.alias else one.bound_name, 0, ""
            else:
                path, module, level, name = facts.path, one.module, one.level, name if one.is_star else one.name

    def _as_module(self, origin: Origin) -> Origin:
        """Return *origin*, or the submodule that it names."""
        below = join_location(*origin)
        is_submodule = is_package(self.snapshot.modules, origin[0]) and below in self.snapshot.modules.files
        return (below, "") if origin[1] and is_submodule else origin

    def _import_of(self, facts: FileFacts, name: str) -> Import | None:
        """Return the one import by which a module has *name*; None where it makes it, or has it in several ways."""
        if ("", name) in facts.definitions_by_name:
            return None
        imports = facts.imports_by_name.get(("", name), ())
        imports = imports or [one for one in facts.imports_by_name.get(("", "*"), ()) if self._gives(facts, one, name)]
        return imports[0] if len(imports) == 1 and not imports[0].for_types_only else None

    def _gives(self, facts: FileFacts, star: Import, name: str) -> bool:
        """Return whether an import of everything takes *name*."""
        location = find_module(self.snapshot.modules, facts.path, star.module, star.level)
        return (
            location is not None
            and offers(self.snapshot, location, name)
            and bool(module_members(self.snapshot, [(location, name)]))
        )


NO_ORIGINS = Origins(Snapshot(), "test_module.py")
"""For where no repository is known: each name is its module's own."""
