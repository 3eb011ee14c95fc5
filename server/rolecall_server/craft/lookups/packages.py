"""The documentation of installed packages, read from their source as text: nothing of them is imported anywhere."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from pydantic import BaseModel, Field

from rolecall_analysis import Definition, FileFacts, Import, Snapshot, facts_of
from rolecall_analysis.installed.packages import InstalledCode
from rolecall_analysis.installed.search import FoundSymbol, packages_of, search_symbols
from rolecall_analysis.installed.world import World
from rolecall_server.craft.edits.notes import ask_for_notes
from rolecall_server.craft.installed import installed_code
from rolecall_server.craft.lookups.sources import LookupSources, bounded, may_be_shown
from rolecall_server.errors import CodeNotRun, NotFound

_MAX_FILE_BYTES = 2_000_000
_MOST_FOUND = 12
_MOST_SAID = 160
"""Characters of a docstring in a list."""
_MAX_STEPS = 6
"""The number of times that a name may be imported from elsewhere before it is defined."""
_DOTTED = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")


class Symbol(BaseModel):
    """A module, class or function of an installed package or of the standard library."""

    name: str = Field(description="dotted in full: json.dumps, requests.Session.get", max_length=200)


@dataclass(frozen=True)
class _Module:
    name: str
    location: Path
    facts: FileFacts
    text: str

    @property
    def package(self) -> str:
        """The package that relative imports in it start from."""
        return self.name if self.location.stem == "__init__" else self.name.rpartition(".")[0]


class SearchedWords(BaseModel):
    """Words that say what is wanted, and where it is to be looked for."""

    words: str = Field(description="what it should do: retry a request with backoff", max_length=300)
    package: str = Field(default="", description="a package's import name; empty for all that the repository imports")


async def search_packages(sources: LookupSources, searched: SearchedWords) -> str:
    """Return the symbols that the words are about, of installed packages and of the repository, each with its header
    and what its docstring begins with.

    Raises:
        NotFound: there is no such package, nothing in it is about the words, or the workspace's Python is not known.
    """
    with _noting_what_is_not_found(sources, searched.words):
        installed = await installed_code(sources.bench, sources.view.workspace.root)
        found = await asyncio.to_thread(
            find_symbols_in, sources.view.snapshot, installed, searched.words, searched.package
        )
        # The path of an installed file is absolute, that of one of the repository is not.
        shown = [
            one for one in found if one.definition.path.startswith("/") or may_be_shown(sources, one.definition.path)
        ]
        if not shown:
            raise NotFound("Nothing there is about these words.", "")
        return bounded(sources, map(in_one_line, shown[:_MOST_FOUND]), "")


@contextmanager
def _noting_what_is_not_found(sources: LookupSources, what: str) -> Generator[None]:
    """Have a model that is told nothing about *what* asked for notes, should it go on from memory."""
    try:
        yield
    except (NotFound, CodeNotRun) as error:
        if _is_own(sources, what):
            raise
        sources.unfound.add(what)
        hint = error.next_step if isinstance(error, NotFound) else ""
        raise NotFound(error.what, f"{hint} {ask_for_notes()}".lstrip()) from error


def _is_own(sources: LookupSources, name: str) -> bool:
    """Return whether *name* leads into a module of the repository, which other lookups tell of."""
    first = name.partition(".")[0]
    return any(first in PurePosixPath(path).with_suffix("").parts for path in sources.view.snapshot.files)


def find_symbols_in(snapshot: Snapshot, installed: InstalledCode, words: str, package: str) -> list[FoundSymbol]:
    """Return the symbols that *words* are about in *package*, or in the repository and all packages that it imports.

    Raises:
        NotFound: there is no package of that name with a text that can be read.
    """
    world = World(snapshot, installed)
    named = installed.search_path.find(package) if package else None
    if package and (named is None or named.kind == "opaque"):
        raise NotFound(f"No installed package is called {package}, or it has no text.", "Check the name.")
    found = search_symbols(world, words, [named] if named else packages_of(world), own=named is None)
    installed.save()
    return found


def in_one_line(symbol: FoundSymbol) -> str:
    """``shop.Cart.total(self, tax=0) - The sum of the prices.``"""
    header = " ".join(symbol.definition.signature.split()).removeprefix("async ")
    _, _, parameters = header.partition(symbol.definition.name)
    said = " ".join(symbol.definition.docstring.split("\n\n")[0].split())
    told = said if len(said) <= _MOST_SAID else f"{said[:_MOST_SAID]}…"
    return f"{symbol.name}{parameters}{f' - {told}' if told else ''}"


async def documentation(sources: LookupSources, symbol: Symbol) -> str:
    """Return the signature and the docstring of *symbol*; of a class or module also what it offers, by signature.

    Raises:
        NotFound: no package of that interpreter has it, it is not written in Python, or that Python is not known.
    """
    if not _DOTTED.fullmatch(symbol.name):
        raise NotFound(f"{symbol.name!r} is no dotted name.", "Write it in full: json.dumps.")
    with _noting_what_is_not_found(sources, symbol.name):
        installed = await installed_code(sources.bench, sources.view.workspace.root)
        places = [Path(place) for place in installed.search_path.places]
        return bounded(sources, _documented(places, symbol.name), f"{symbol.name} has no documentation.")


def _documented(places: Sequence[Path], name: str) -> Iterator[str]:
    module, rest = _nearest_module(places, name)
    for _ in range(_MAX_STEPS):
        if not rest:
            yield from _of_module(module)
            return
        found = _defined(module, rest)
        if found is not None:
            yield from _of_definition(module, found)
            return
        module, rest = _followed(places, module, rest)
    raise NotFound(f"{name} is passed on too often to be followed.", "Ask for where it is defined.")


def _nearest_module(places: Sequence[Path], name: str) -> tuple[_Module, str]:
    """Return the longest beginning of *name* that is a module, and what is left of it."""
    parts = name.split(".")
    for n_parts in range(len(parts), 0, -1):
        module = _read(places, parts[:n_parts])
        if module is not None:
            return module, ".".join(parts[n_parts:])
    raise NotFound(f"No installed package has {name}, or it is not written in Python.", "Check the name.")


def _read(places: Sequence[Path], parts: Sequence[str]) -> _Module | None:
    """Return the module from the first of *places* that has it; a link out of its place may lead to anything."""
    for place in places:
        base = place.joinpath(*parts)
        for location in (base / "__init__.py", base.with_name(f"{base.name}.py"), base / "__init__.pyi"):
            try:
                stays = Path(os.path.realpath(location)).is_relative_to(os.path.realpath(place))
                if stays and location.is_file() and location.stat().st_size <= _MAX_FILE_BYTES:
                    text = location.read_text(encoding="utf-8", errors="replace")
                    return _Module(".".join(parts), location, facts_of(location.name, text), text)
            except OSError:
                continue
    return None


def _defined(module: _Module, name: str) -> Definition | None:
    found = [one for one in module.facts.definitions if one.qualified_name == name]
    return next((one for one in found if one.docstring), found[0] if found else None)


def _followed(places: Sequence[Path], module: _Module, name: str) -> tuple[_Module, str]:
    """Return the module that *module* takes the first part of *name* from, and what it is called there."""
    first, _, rest = name.partition(".")
    imports = [one for one in module.facts.imports if not one.scope]
    named = [one for one in imports if not one.is_star and one.bound_name == first]
    # What is imported by its name goes before what a star may bring.
    for imported in (*named, *(one for one in imports if one.is_star)):
        source = _module_name(module, imported)
        wanted = first if imported.is_star else imported.name or ""
        target = ".".join(part for part in (wanted, rest) if part)
        try:
            found, left = _nearest_module(places, f"{source}.{target}" if target else source)
        except NotFound:
            continue
        if found.name != module.name and (not imported.is_star or not left or _defined(found, left)):
            return found, left
    base = _defined(module, first)
    for inherited in base.bases if base is not None and rest else ():
        if inherited != first:
            return module, f"{inherited}.{rest}"
    raise NotFound(f"{module.name} has no {name} that can be read.", "Ask for the module to see what it has.")


def _module_name(module: _Module, imported: Import) -> str:
    if not imported.level:
        return imported.module
    package = module.package.split(".")
    base = package[: len(package) - imported.level + 1]
    return ".".join([*base, *([imported.module] if imported.module else [])])


def _of_module(module: _Module) -> Iterator[str]:
    yield f"module {module.name}"
    if docstring := _module_docstring(module.text):
        yield docstring
    for one in module.facts.definitions:
        if not one.scope and not one.name.startswith("_") and one.kind != "variable":
            yield one.signature


def _module_docstring(text: str) -> str:
    """Return the docstring that *text* begins with; empty where it has none."""
    match = re.match(r'(?:\s++|#[^\n]*+\n)*+[rRuU]?("""|\'\'\')(.*?)\1', text, re.DOTALL)
    return match[2].strip() if match else ""


def _of_definition(module: _Module, found: Definition) -> Iterator[str]:
    yield f"{module.name}: {found.signature}"
    if found.docstring:
        yield from found.docstring.splitlines()
    if found.kind == "class":
        for one in module.facts.definitions:
            if one.scope == found.qualified_name and one.kind == "method" and not one.name.startswith("_"):
                yield f"    {one.signature}"
