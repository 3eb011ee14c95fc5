"""The names that a change uses of modules and classes which do not have them, as findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from rolecall_analysis import Snapshot
from rolecall_analysis.installed.packages import InstalledCode
from rolecall_analysis.installed.world import World
from rolecall_server.review.names.checking import WrongName, wrong_names
from rolecall_server.review.names.near import described, near_names
from rolecall_server.review.proposals.evidence import GraphFinding, SourceLine

_MOST_LINES = 20


def wrong_name_findings(
    before: Snapshot, after: Snapshot, paths: Sequence[str], installed: InstalledCode
) -> Iterator[GraphFinding]:
    """Yield what the files *paths* name in *after*, and did not in *before*, that is not there.

    The facts that were read for it are kept.
    """
    world = World(after, installed)
    for path in paths:
        found = wrong_names(world, path, changed=paths) if path in after.files else ()
        if not found:
            continue
        old = wrong_names(World(before, installed), path, changed=()) if path in before.files else ()
        known = Counter(map(_matter, old))
        for one in found:
            known[_matter(one)] -= 1
            if known[_matter(one)] < 0 and not _was_heard(before, one):
                yield _finding(world, path, one)
    installed.save()


def _matter(one: WrongName) -> tuple[str, str, str]:
    return one.kind, one.name, one.reason


def _was_heard(before: Snapshot, one: WrongName) -> bool:
    """Return whether the repository had the name of a doubt: then the change did not make it up."""
    return one.kind == "unheard" and any(before.mentioning(one.name))


def _finding(world: World, path: str, one: WrongName) -> GraphFinding:
    if one.kind == "call":
        sentence = f"{described(world, one.holder)} is {one.header!r}: it {one.reason}."
        return GraphFinding(
            "call that does not fit", path, one.line, sentence, certain=one.certain, is_asked_about=True
        )
    lines = world.text(path).splitlines()
    after = tuple(SourceLine(path, line, lines[line].strip()) for line in one.after[:_MOST_LINES] if line < len(lines))
    more = " What comes of it could not be checked." if after else ""
    sentence = f"{_sentence(world, one)}{more}"
    return GraphFinding(
        "name without meaning",
        path,
        one.line,
        sentence,
        after,
        one.certain,
        is_asked_about=True,
        name=_name(world, one),
    )


def _name(world: World, one: WrongName) -> str:
    """Return the name that is missing, with that of its holder where there is one."""
    if one.holder is None:
        return one.name
    return f"{described(world, one.holder)}.{one.name.rpartition('.')[2]}"


def _sentence(world: World, one: WrongName) -> str:
    if one.kind == "unheard":
        return f"Nothing in the repository, or in the packages that this file can reach, is called {one.name!r}."
    if one.kind == "module":
        return f"No module {one.name!r} is installed for this workspace."
    name = one.name.rpartition(".")[2]
    near = near_names(world, one.holder, name)
    there = f" It has: {'; '.join(near)}." if near else ""
    return f"{described(world, one.holder)} has no {name!r}.{there}"
