"""The names that are there and come near one that is not."""

from __future__ import annotations

from difflib import get_close_matches

from rolecall_analysis import Definition
from rolecall_analysis.installed.classes import followed, members_of
from rolecall_analysis.installed.search_path import CodeModule
from rolecall_analysis.installed.world import Held, World
from rolecall_analysis.retrieval.words import terms_of
from rolecall_server.review.names.values import FunctionOf, Known, ObjectOf

_MOST_NEAR = 3
_MOST_LISTED = 16
_MOST_CHARACTERS = 160
_ALIKE = 0.6


def near_names(world: World, holder: Known | None, name: str) -> tuple[str, ...]:
    """Return the members of *holder* whose names come near *name*, with their signatures; where none does, all that it
    has by name.
    """
    there = _there(world, holder)
    spelled = get_close_matches(name, there, _MOST_NEAR, _ALIKE)
    words = set(terms_of(name))
    akin = sorted(
        (one for one in there if words & set(terms_of(one))), key=lambda one: -len(words & set(terms_of(one)))
    )
    chosen = list(dict.fromkeys((*spelled, *akin)))[:_MOST_NEAR]
    if chosen:
        return tuple(_signature(there[one], one) for one in chosen)
    listed = [*there][:_MOST_LISTED]
    return (", ".join(listed) + (", …" if len(there) > len(listed) else ""),) if listed else ()


def described(world: World, holder: Known | None) -> str:
    """Return *holder* in a few words: ``requests.Session``; empty where there is none."""
    match holder:
        case CodeModule(name=name):
            return name.replace("/", ".") if holder.is_own else name
        case ObjectOf(definition=definition) | FunctionOf(definition=definition):
            return described(world, definition)
        case Definition():
            module = world.module_at(holder.path)
            return f"{described(world, module)}.{holder.qualified_name}"
        case _:
            return ""


def _there(world: World, holder: Known | None) -> dict[str, Definition | None]:
    match holder:
        case CodeModule():
            return {name: _definition(world, world.member(holder, name)) for name in world.names_of(holder)}
        case ObjectOf(definition=definition):
            return dict(members_of(world, definition))
        case Definition(kind="class"):
            return dict(members_of(world, holder))
        case _:
            return {}


def _definition(world: World, held: Held) -> Definition | None:
    things = followed(world, held).things
    return next((one for one in things if isinstance(one, Definition)), None)


def _signature(definition: Definition | None, name: str) -> str:
    if definition is None or definition.kind == "variable":
        return name
    text = " ".join(definition.signature.split()).removeprefix("async ").removeprefix("def ").removeprefix("class ")
    return text if len(text) <= _MOST_CHARACTERS else f"{text[: _MOST_CHARACTERS - 1]}…"
