"""The repository and what is installed, as one world in which names are followed.

Each answer is one of three: these things are there; nothing is there; there is no telling.
"""

from __future__ import annotations

import builtins
import re
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar, cast

from rolecall_analysis.installed.packages import InstalledCode
from rolecall_analysis.installed.search_path import CodeModule
from rolecall_analysis.modules import find_module, find_sibling, join_location, location_of
from rolecall_analysis.resolution.names import outwards, scope_definition
from rolecall_analysis.snapshot import Snapshot, is_python
from rolecall_analysis.values import Definition, FileFacts, Import

Thing = Definition | CodeModule

_Answer = TypeVar("_Answer")

_LINE_BREAK = re.compile(r"\r\n|\r|\n")
_MOST_STEPS = 40
"""The number of imports that are followed one after the other."""

_NAMESPACE = re.compile(r"(?:\b(\w++)\s*=\s*)?\b(?:globals|locals|vars)\s*\(\s*\)(\s*[\[.\w][^\n]*+)?")
_ONLY_READ = re.compile(
    r"\s*(?:\[[^\]\n]*+\](?!\s*=[^=])|\.(?:get|items|keys|values|copy)\b|\s(?:if|else|for|and|or)\b)"
)

_MADE_UP = "__getattr__"
_COMPARED = re.compile(r"\braise\b[^\n]*+|\b\w++\s*==\s*[\"']\w++[\"']|def [^\n]*+")

_OPEN_MODULE = re.compile(
    r"\bexec\s*\(|\bsys\.modules\s*(?:\[[^\]\n]{0,100}+\]\s*=|\.(?:setdefault|update)|\[__name__\])"
    r"|\b__path__\b|^__getattr__|\bsetattr\s*\(\s*(?:sys\.|mod\w*+\s*,|this\w*+\s*,|__import__)|global_enum|\b_convert_?\(",
    re.MULTILINE,
)
"""Text of a module that may have names which no statement binds."""


@dataclass(frozen=True, slots=True)
class Held:
    """The things that a module or class has under a name."""

    things: tuple[Thing, ...] = ()
    is_all: bool = True
    """Nothing else can be there. With no things: the name is certainly not there."""

    @property
    def is_missing(self) -> bool:
        """Return whether the name is certainly not there."""
        return self.is_all and not self.things


MISSING = Held()
UNCLEAR = Held((), is_all=False)


class World:
    """The code of a repository, as *snapshot* has it, and what is *installed* for its Python."""

    def __init__(self, snapshot: Snapshot, installed: InstalledCode) -> None:
        self.snapshot, self.installed = snapshot, installed
        self._modules: dict[str, CodeModule] = {}
        self._open: dict[str, bool] = {}
        self._texts: dict[str, str] = {}
        self._derived: dict[Hashable, object] = {}

    def derived(self, key: Hashable, compute: Callable[[], _Answer]) -> _Answer:
        """Return the result of *compute*, which is computed once for each *key*."""
        if key not in self._derived:
            self._derived[key] = compute()
        return cast("_Answer", self._derived[key])

    def facts(self, path: str) -> FileFacts:
        """Return the facts of the file *path*, of the repository or installed."""
        return self.snapshot.files[path] if path in self.snapshot.files else self.installed.facts(path)

    def text(self, path: str) -> str:
        """Return the text of the file *path*, of the repository or installed."""
        if path not in self._texts:
            own = self.snapshot.text(path) if path in self.snapshot.files else self.installed.text(path)
            self._texts[path] = own or ""
        return self._texts[path]

    def module_at(self, path: str) -> CodeModule:
        """Return the module in the file *path*: of the repository, or one that an answer led to."""
        if path not in self._modules:
            self._modules[path] = self._own(location_of(path))
        return self._modules[path]

    def find(self, importer: CodeModule, name: str, level: int = 0) -> CodeModule | None:
        """Return the module that ``import name`` means in *importer*; None where none is found."""
        if importer.is_own:
            tree = self.snapshot.modules
            location = find_module(tree, importer.path, name, level)
            if location is not None or level:
                return self._own(location) if location is not None else None
        elif level:
            # One dot is the package itself, each one more the package around it.
            package = importer.package.split(".")[: len(importer.package.split(".")) - level + 1]
            name = ".".join([*package, *([name] if name else [])])
        return self._noted(self.installed.search_path.find(name)) if name else None

    def may_be_beside(self, importer: CodeModule, name: str) -> bool:
        """Return whether ``import name`` means a module beside *importer* if that is run as a script."""
        return importer.is_own and find_sibling(self.snapshot.modules, importer.path, name) is not None

    def submodule(self, module: CodeModule, name: str) -> CodeModule | None:
        """Return the submodule *name* of *module*, if it has it."""
        if not module.is_own:
            return self._noted(self.installed.search_path.find(f"{module.name}.{name}"))
        location = join_location(module.name, name)
        tree = self.snapshot.modules
        return self._own(location) if location in tree.files or location in tree.folders else None

    def member(self, module: CodeModule, name: str, n_steps: int = 0) -> Held:
        """Return what the name *name* of *module* leads to, through any number of imports."""
        # Modules may import a name from each other in a circle.
        if module.kind == "opaque" or n_steps > _MOST_STEPS:
            return UNCLEAR
        facts = self.facts(module.path) if module.path else None
        found = self.bound(module, facts, "", name, n_steps) if facts is not None else None
        if found is not None:
            return found
        if (submodule := self.submodule(module, name)) is not None:
            return Held((submodule,))
        # A namespace package of the repository may go on in an installed folder.
        if facts is None:
            return MISSING if self.installed.search_path.is_whole and not module.is_own else UNCLEAR
        return self._through_stars(module, facts, name, n_steps) or (
            UNCLEAR if self._is_open(module, facts, name) else MISSING
        )

    def bound(self, module: CodeModule, facts: FileFacts, scope: str, name: str, n_steps: int = 0) -> Held | None:
        """Return what the statements of *scope* in *module* bind *name* to; None where they do not bind it."""
        definitions = facts.definitions_by_name.get((scope, name), ())
        imports = facts.imports_by_name.get((scope, name), ())
        is_other = (scope, name) in facts.local_names
        if not definitions and not imports:
            return UNCLEAR if is_other else None
        held = [self.imported(module, one, n_steps + 1) for one in imports]
        things = (*definitions, *(thing for one in held for thing in one.things))
        return Held(tuple(dict.fromkeys(things)), not is_other and all(one.is_all and one.things for one in held))

    def imported(self, importer: CodeModule, one: Import, n_steps: int = 0) -> Held:
        """Return what the import *one* in *importer* binds its name to."""
        if one.name is None:
            found = self.find(importer, one.module if one.alias else one.bound_name)
            return Held((found,)) if found is not None else UNCLEAR
        source = self.find(importer, one.module, one.level)
        # `from . import price` in an `__init__` names the package itself: only a submodule can be meant.
        if source is None or (source.path and source.path == importer.path and one.name == one.bound_name):
            submodule = self.submodule(source, one.name) if source is not None else None
            return Held((submodule,)) if submodule is not None else UNCLEAR
        return self.member(source, one.name, n_steps)

    def resolve(self, module: CodeModule, scope: str, dotted: str) -> Held:
        """Return what the *dotted* name means in *scope* of *module*, as far as it leads through modules."""
        head, *rest = dotted.split(".")
        held = self.name(module, scope, head)
        for name in rest:
            modules = [thing for thing in held.things if isinstance(thing, CodeModule)]
            if not held.is_all or len(modules) != len(held.things) or not modules:
                return UNCLEAR
            found = [self.member(one, name) for one in modules]
            held = Held(tuple(thing for one in found for thing in one.things), all(one.is_all for one in found))
        return held

    def name(self, module: CodeModule, scope: str, name: str) -> Held:
        """Return what the plain *name* means in *scope* of *module*."""
        facts = self.facts(module.path)
        for outer in outwards(scope):
            definition = scope_definition(facts, outer) if outer and outer != scope else None
            # A function does not see the names of the class around it.
            if definition is not None and definition.kind == "class":
                continue
            if outer and (found := self.bound(module, facts, outer, name)) is not None:
                return found
        found = self.member(module, name)
        # A builtin is there although no module defines it.
        return UNCLEAR if found.is_missing and hasattr(builtins, name) else found

    def names_of(self, module: CodeModule) -> list[str]:
        """Return the public names of *module*, as far as they can be read off."""
        names: dict[str, None] = {}
        waiting, passed = [module], {module}
        while waiting:
            one = waiting.pop(0)
            facts = self.facts(one.path) if one.path else None
            own = [sub.name for sub in self.installed.search_path.submodules(one)] if not one.is_own else []
            names |= dict.fromkeys(name.rpartition(".")[2] for name in own)
            if facts is not None:
                bound = (*facts.definitions_by_name, *facts.imports_by_name)
                names |= dict.fromkeys(name for scope, name in bound if not scope)
                # Modules may take all names from each other in a circle.
                more = {source for source in self._star_sources(one, facts) if source is not None} - passed
                waiting += sorted(more, key=lambda source: source.name)
                passed |= more
        return [name for name in names if not name.startswith("_") and name != "*"]

    def is_judged(self, path: str) -> bool:
        """Return whether the file *path* shows all names that it has."""
        return is_python(path) and path.endswith(".py") and not self.facts(path).problems

    def _own(self, location: str) -> CodeModule:
        tree = self.snapshot.modules
        path = tree.files.get(location, "")
        is_package = not path or path.rpartition("/")[2].startswith("__init__.")
        kind = "source" if path else "namespace"
        return CodeModule(location, path, (location,) if is_package else (), kind, is_own=True)

    def _noted(self, found: CodeModule | None) -> CodeModule | None:
        if found is not None and found.path:
            self._modules[found.path] = found
        return found

    def _star_sources(self, module: CodeModule, facts: FileFacts) -> Iterator[CodeModule | None]:
        stars = facts.imports_by_name.get(("", "*"), ())
        return (self.find(module, one.module, one.level) for one in stars)

    def _through_stars(self, module: CodeModule, facts: FileFacts, name: str, n_steps: int) -> Held | None:
        """Return what a star import brings as *name*; None where none can."""
        held = list(self._from_stars(self._star_sources(module, facts), name, n_steps))
        things = tuple(dict.fromkeys(thing for one in held for thing in one.things))
        return Held(things, all(one.is_all for one in held)) if things or not all(one.is_all for one in held) else None

    def _from_stars(self, sources: Iterable[CodeModule | None], name: str, n_steps: int) -> Iterator[Held]:
        for source in sources:
            if source is None:
                yield UNCLEAR
            # A namespace package has no name that a star could take.
            elif not source.path:
                yield UNCLEAR if source.kind == "opaque" else MISSING
            elif self._is_offered(source, name):
                yield self.member(source, name, n_steps + 4)

    def _is_offered(self, source: CodeModule, name: str) -> bool:
        exported = self.facts(source.path).exported
        if exported is None:
            # An `__all__` that cannot be read off may have any name.
            return "__all__" in self.text(source.path) or not name.startswith("_")
        # An entry with a dot stands for the `__all__` of another module, which may have the name.
        return name in exported or any("." in entry for entry in exported)

    def _is_open(self, module: CodeModule, facts: FileFacts, name: str) -> bool:
        if module.path not in self._open:
            text = self.text(module.path)
            is_open = _OPEN_MODULE.search(text) is not None or _fills_namespace(text)
            is_shown = self.is_judged(module.path) and not is_open
            self._open[module.path] = not is_shown
        return self._open[module.path] or name in (facts.exported or ()) or self._may_make_up(facts, name)

    def _may_make_up(self, facts: FileFacts, name: str) -> bool:
        """Return whether the module's ``__getattr__`` may answer for *name*: one that compares names does for those."""
        for one in facts.definitions_by_name.get(("", _MADE_UP), ()):
            text = self.text_of(one)
            parameter = re.search(r"\(\s*(\w+)", one.signature)
            rest = _COMPARED.sub("", text)
            if parameter is None or re.search(rf"\b{parameter[1]}\b", rest) or re.search(rf"[\"']{name}[\"']", text):
                return True
        return False

    def text_of(self, definition: Definition) -> str:
        """Return the lines in which *definition* stands."""
        path = definition.path
        lines = self.derived(("lines", path), lambda: _LINE_BREAK.split(self.text(path)))
        return "\n".join(lines[definition.span.start.line : definition.span.end.line + 1])


def _fills_namespace(text: str) -> bool:
    """Return whether *text* may put names into what ``globals()`` and the like give, or hand that to somebody."""
    for found in _NAMESPACE.finditer(text):
        name, rest = found[1], found[2] or ""
        if rest and _ONLY_READ.match(rest) is None:
            return True
        if name and re.search(
            rf"\b{name}\s{{0,8}}(?:\[[^\]\n]{{0,100}}+\]\s{{0,8}}=[^=]|\.(?:update|setdefault|pop)\b)", text
        ):
            return True
        if not rest and not name and re.search(r"(?:\bin|=|==)\s*$", text[: found.start()]) is None:
            return True
    return False
