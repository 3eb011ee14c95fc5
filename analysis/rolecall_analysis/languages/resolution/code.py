"""The code of a repository in languages other than Python: what is asked of it, and what an answer looks like."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from rolecall_analysis.languages.resolution.imports import Project
from rolecall_analysis.languages.table import family_of
from rolecall_analysis.values import Definition, FileFacts

LinkRule = Literal["name in scope", "import", "attribute", "attribute of self", "inherited", "super", "same name"]
"""As the rules of `rolecall_analysis.resolution.names`. Only the last is never certain."""

MAX_FOLLOWED = 200
"""Files, bases or re-exports that are followed for one name."""

TYPE_KINDS = frozenset({"class", "interface", "type"})
HOLDER_KINDS = TYPE_KINDS | {"module"}
SUPER = frozenset({"super", "base", "parent"})


@dataclass(frozen=True, slots=True)
class OtherMeaning:
    """The meaning of a name."""

    definitions: tuple[Definition, ...]
    certain: bool
    """With definitions: the binding was followed. Without: the name is bound outside of the repository, or nowhere;
    when false its value is not known."""
    rule: LinkRule


ELSEWHERE = OtherMeaning((), True, "import")
UNKNOWN = OtherMeaning((), False, "same name")


@dataclass(frozen=True, slots=True)
class Found:
    """The targets to which a name is bound: definitions, or whole files."""

    definitions: tuple[Definition, ...] = ()
    files: tuple[str, ...] = ()
    certain: bool = True
    rule: LinkRule = "name in scope"


@dataclass(frozen=True)
class OtherCode:
    """The files of a repository in other languages than Python, and how their names are looked up."""

    files: Mapping[str, FileFacts]
    """May hold Python files and notebooks; they are not looked at."""
    project: Project
    mentioning: Callable[[str], Iterable[str]]
    included: dict[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    """The files that each file asked about so far imports, directly or not; kept, as each of its names needs them."""
    _named: dict[str, tuple[Definition, ...]] = field(default_factory=dict[str, tuple[Definition, ...]])

    def named(self, name: str) -> tuple[Definition, ...]:
        """Return every definition of that name, by path."""
        if name not in self._named:
            paths = sorted(path for path in self.mentioning(name) if family_of(path))
            self._named[name] = tuple(one for path in paths for one in self.files[path].definitions if one.name == name)
        return self._named[name]

    def called(self, qualified_name: str) -> tuple[Definition, ...]:
        """Return every definition of that qualified name, by path."""
        found = self.named(qualified_name.rpartition(".")[2])
        return tuple(one for one in found if one.qualified_name == qualified_name)


def code_of(
    files: Mapping[str, FileFacts],
    text: Callable[[str], str | None],
    mentioning: Callable[[str], Iterable[str]] | None = None,
) -> OtherCode:
    """Return the code in *files*; *text* gives the content of any file of the repository, or None.

    *mentioning* gives the paths of the files in which an identifier occurs; without it all are searched.
    """

    def search(name: str) -> Iterable[str]:
        return (path for path, facts in files.items() if name in facts.names)

    return OtherCode(files, Project(frozenset(files), text), mentioning or search)


@dataclass(frozen=True, slots=True)
class NamePlace:
    """The place where a name stands."""

    code: OtherCode
    path: str
    family: str

    @property
    def facts(self) -> FileFacts:
        """Return the facts of its file."""
        return self.code.files[self.path]

    def at(self, path: str) -> NamePlace:
        """Return the same place in another file."""
        return NamePlace(self.code, path, self.family)


def meaning_of(found: Found | None) -> OtherMeaning:
    """Return the meaning of a name that is bound to *found*."""
    if found is None:
        return UNKNOWN
    if not found.definitions:
        return ELSEWHERE
    return OtherMeaning(tuple(dict.fromkeys(found.definitions)), found.certain, found.rule)


def with_doubt(found: Found, outer: Found) -> Found:
    """Return *found*, made no more certain than *outer*, in which it was found."""
    return Found(found.definitions, found.files, found.certain and outer.certain, found.rule)


def outwards(scope: str) -> Iterator[str]:
    """Yield *scope* and the scopes around it, down to the file, which is empty."""
    while scope:
        yield scope
        scope = scope.rpartition(".")[0]
    yield ""
