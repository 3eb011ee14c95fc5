"""The sources from which questions are answered, and the lines of answers: never of private files, and never
too many.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from rolecall_analysis import Definition, definitions_in
from rolecall_analysis.ignored import Ignored, is_ignored
from rolecall_analysis.queries.symbols import definitions_named
from rolecall_server.context import PackSource
from rolecall_server.context.items import check_shown
from rolecall_server.craft.trial import Bench
from rolecall_server.errors import FileRefused, NotFound
from rolecall_server.workspace import Workspace, file_exists, read_text_file, split_lines

MAX_ANSWER_TOKENS = 2_000
"""Of one answer: about 150 lines of code, after which a narrower question is worth more than more lines."""
_MAX_NAMED = 12
_MAX_LINE_CHARACTERS = 1_000


@dataclass(frozen=True)
class LookupSources:
    """The repository, and where its code can be run, with the edits that were made so far."""

    view: PackSource
    bench: Bench
    draft: Mapping[str, str | None] = field(default_factory=lambda: MappingProxyType({}))
    """The files as those edits have them; ``None`` where one is gone. It changes while the model works."""
    unfound: set[str] = field(default_factory=set[str])
    """The names and words of which no package told anything; added to while the model works."""

    def with_edits(self) -> LookupSources:
        """Return these sources as they are now: what is read, and what the graph says, is as the edits have it."""
        # A copy, as the draft goes on changing: one answer is about one state of the files.
        draft = dict(self.draft)
        if not draft:
            return self
        before = self.view.workspace
        texts = {path: text for path, text in {**before.buffers, **draft}.items() if text is not None}
        kept = {path: text for path, text in texts.items() if draft.get(path, "") is not None}
        workspace, snapshot = Workspace(before.root, kept), self.view.snapshot.with_changes(draft)
        return replace(self, view=replace(self.view, workspace=workspace, snapshot=snapshot), draft=draft)


def bounded(sources: LookupSources, lines: Iterable[str], nothing: str) -> str:
    """Return *lines* as far as they fit into an answer, with a word about the rest; *nothing* where there are none."""
    told: list[str] = []
    left = MAX_ANSWER_TOKENS
    remaining = iter(lines)
    for line in remaining:
        left -= sources.view.count_tokens(line) + 1
        if left < 0:
            n_more = 1 + sum(1 for _ in remaining)
            told.append(f"… and {n_more:,} more lines. Ask for something narrower.")
            break
        told.append(line)
    return "\n".join(told) or nothing


def shown_lines(sources: LookupSources, path: str) -> list[str]:
    """Return the lines of *path*, without their endings.

    Raises:
        FileRefused: it cannot be read, lies outside, is ignored by git or kept from models.
        NotFound: there is no such file, or it is gone with the edits that were made so far.
    """
    plain = posixpath.normpath(path)
    if sources.draft.get(plain, "") is None:
        raise NotFound(f"{plain} is gone with your edits.", "Ask for another file.")
    check_shown(sources.view, plain)
    if plain not in sources.draft and not git_would_read(sources.view.workspace, plain):
        raise FileRefused(
            f"Git ignores {plain}, or tools installed it: models are shown what git would read.", "Go on."
        )
    if not file_exists(sources.view.workspace, plain):
        like = ", ".join(_named_alike(sources, plain)[:_MAX_NAMED])
        raise NotFound(f"There is no file {plain}.{f' There is: {like}.' if like else ''}", "Ask for another file.")
    text = read_text_file(sources.view.workspace, plain).text
    return [line.rstrip("\r\n") for line in split_lines(text)]


def _named_alike(sources: LookupSources, path: str) -> list[str]:
    """Return the files beside *path* with its name and another ending, and those of its whole name elsewhere."""
    folder, name = posixpath.split(path)
    stem = posixpath.splitext(name)[0].casefold()
    workspace, beside = sources.view.workspace, list[str]()
    with suppress(OSError), os.scandir(workspace.root / folder) as entries:
        names = sorted(entry.name for entry in entries if entry.is_file())
        beside = [posixpath.join(folder, one) for one in names if posixpath.splitext(one)[0].casefold() == stem]
    elsewhere = [one for one in sources.view.snapshot.files if posixpath.basename(one) == name]
    found = dict.fromkeys((*beside, *elsewhere))
    return [one for one in found if may_be_shown(sources, one) and git_would_read(workspace, one)]


def git_would_read(workspace: Workspace, path: str) -> bool:
    """Return whether *path* is open in the editor, or a file that git does not ignore."""
    rules = Ignored(workspace.root, as_git_does=True).rules_in(path.rpartition("/")[0])
    return path in workspace.buffers or (rules is not None and not is_ignored(path, rules))


def may_be_shown(sources: LookupSources, path: str) -> bool:
    """Return whether a model may be shown *path*."""
    try:
        check_shown(sources.view, path)
    except FileRefused:
        return False
    return True


def numbered(lines: list[str], first: int, last: int) -> Iterator[str]:
    """Yield the lines from *first* to *last*, both from 1, each with its number."""
    for number in range(max(first, 1), min(last, len(lines)) + 1):
        yield f"{number}: {shortened(lines[number - 1])}"


def shortened(line: str, around: str = "") -> str:
    """Return *line*, or where it is very long the part of it that holds *around*."""
    if len(line) <= _MAX_LINE_CHARACTERS:
        return line
    begin = max(0, line.lower().find(around.partition("\n")[0].lower()) - _MAX_LINE_CHARACTERS // 2)
    end = begin + _MAX_LINE_CHARACTERS
    more = "…" if end < len(line) else ""
    return f"{'…' if begin else ''}{line[begin:end]}{more} (a part; the line has {len(line):,} characters)"


def place_of(definition: Definition) -> str:
    """``shop/price.py:12 def total(items)``"""
    return f"{definition.path}:{definition.name_span.start.line + 1} {definition.signature}"


def find_named(sources: LookupSources, name: str, path: str = "") -> list[Definition]:
    """Return the definitions called *name*, plain or dotted, in *path* or anywhere; functions and classes first.

    Raises:
        NotFound: there is none, with those that are there.
        FileRefused: *path* is kept from models.
    """
    snapshot = sources.view.snapshot
    if path:
        check_shown(sources.view, path)
        known = [one for one in definitions_in(snapshot, path) if _is_called(one, name)]
    else:
        known = [one for one in definitions_named(snapshot, name.rpartition(".")[2]) if _is_called(one, name)]
    found = [one for one in known if may_be_shown(sources, one.path)]
    if found:
        return sorted(found, key=lambda one: one.kind == "variable")
    there = [one.qualified_name for one in definitions_in(snapshot, path) if one.kind != "variable"] if path else []
    hint = f"It defines {', '.join(there[:_MAX_NAMED])}." if there else "Search for it, or ask for a package's symbol."
    raise NotFound(f"{path or 'The repository'} defines no {name}.", hint)


def _is_called(definition: Definition, name: str) -> bool:
    return definition.qualified_name == name or f".{definition.qualified_name}".endswith(f".{name}")
