"""The regular expressions of the code, and texts that would keep a bad one busy."""

from __future__ import annotations

import ast
import functools
import importlib
import random
import re
import re._constants as sre  # pyright: ignore[reportMissingImports]
import re._parser as parser  # pyright: ignore[reportMissingImports]
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_REPOSITORY = Path(__file__).resolve().parents[2]
_PACKAGES = (_REPOSITORY / "server" / "rolecall_server", _REPOSITORY / "analysis" / "rolecall_analysis")
_FLAGS_AT = {"compile": 1, "sub": 4, "subn": 4, "split": 3}
"""Which argument of a function of `re` has the flags, where that is not the third."""
_FUNCTIONS = frozenset({"compile", "search", "match", "fullmatch", "sub", "subn", "findall", "finditer", "split"})
_MOST_TEXTS = 60
_BLANK = ["a", " ", "\n", "0", "_", "-", "/", ".", "A", "(", "`", "a ", "a\n", " \n"]


@dataclass(frozen=True)
class Found:
    """A regular expression and where it stands."""

    place: str
    """``package/module.py:line``."""
    pattern: str | bytes
    flags: int
    anchored: bool
    """Whether it is only ever tried at the beginning of a text."""

    def __str__(self) -> str:
        return f"{self.place} {self.pattern!r}"[:160]


@functools.cache
def patterns() -> tuple[Found, ...]:
    """Return each regular expression of the code, with a word where a function puts something into it."""
    paths = ((path, package.parent) for package in _PACKAGES for path in sorted(package.rglob("*.py")))
    return tuple(found for path, above in paths for found in _found_in(path, above))


def _found_in(path: Path, above: Path) -> Iterator[Found]:
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    used = {id(node.value): node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    names = _names_by_call(tree)
    below = path.relative_to(above)
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and (function := _function_of_re(call)):
            values = _values_of(below) if function else {}
            pattern = _value(call.args[0], values)
            at = _FLAGS_AT.get(function, 2)
            given = [word.value for word in call.keywords if word.arg == "flags"] + call.args[at : at + 1]
            flags = int(eval(ast.unparse(given[0]), {"re": re})) if given else 0
            uses = {used.get(id(call), function)}
            if function == "compile" and (called := names.get(id(call))):
                uses = {*re.findall(rf"\b(?:{'|'.join(called)})\.(\w+)\(", source)} & _FUNCTIONS
            yield Found(
                f"{below.as_posix()}:{call.lineno}", pattern, flags, bool(uses) and uses <= {"match", "fullmatch"}
            )


def _names_by_call(tree: ast.Module) -> dict[int, list[str]]:
    """Return by which names the module uses what a call gives: its own, or those of a loop over the table it is in."""
    nodes = [*ast.walk(tree)]
    tables: dict[str, ast.expr] = {}
    for node in nodes:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                tables[name] = value
            case _:
                pass
    found = {id(value): [name] for name, value in tables.items()}
    for node in nodes:
        if isinstance(node, ast.For | ast.comprehension) and isinstance(node.iter, ast.Name) and node.iter.id in tables:
            through = [one.id for one in ast.walk(node.target) if isinstance(one, ast.Name)]
            calls = (one for one in ast.walk(tables[node.iter.id]) if isinstance(one, ast.Call))
            found |= {id(call): through for call in calls if id(call) not in found}
    return found


def _function_of_re(call: ast.Call) -> str:
    match call.func:
        case ast.Attribute(value=ast.Name(id="re"), attr=name) if name in _FUNCTIONS and call.args:
            return name
        case _:
            return ""


@functools.cache
def _values_of(below: Path) -> dict[str, Any]:
    """Return what the names of a module stand for; nothing for what runs in another process alone."""
    if "child" in below.parts:
        return {}
    return vars(importlib.import_module(".".join(below.with_suffix("").parts).removesuffix(".__init__")))


def _value(node: ast.expr, values: dict[str, Any]) -> Any:
    """Return what the expression *node* is when the code runs; a word where only a call would tell."""
    match node:
        case ast.JoinedStr(values=parts):
            return "".join(str(_value(part, values)) for part in parts)
        case ast.FormattedValue(value=value):
            return _value(value, values)
        case ast.BinOp(left=left, right=right):
            one, other = _value(left, values), _value(right, values)
            return one + (other if type(one) is type(other) else type(one)())
        case _:
            try:
                value = eval(ast.unparse(node), dict(values))
            except Exception:  # noqa: BLE001 - whatever needs the values of a call
                value = None
            return value if isinstance(value, str | bytes) else "word"


def slow_texts(found: Found, seed: int = 0) -> list[tuple[str, str]]:
    """Return beginnings of texts with what follows them again and again: parts of what the pattern matches."""
    chance = random.Random(seed)
    tried: dict[tuple[str, str], None] = dict.fromkeys(("", piece) for piece in _BLANK)
    tree = parser.parse(found.pattern, found.flags)
    for most in (1, 2, 3):
        _note_parts(list(tree), "", chance, most, tried)
    texts = [(before, piece) for before, piece in tried if piece]
    return texts if len(texts) <= _MOST_TEXTS else [*texts[: len(_BLANK)], *chance.sample(texts, _MOST_TEXTS)]


def _note_parts(
    items: list[Any], before: str, chance: random.Random, most: int, tried: dict[tuple[str, str], None]
) -> None:
    """Note what each part of a pattern matches, after what stands *before* it and by itself."""
    for op, value in items:
        for inner in _inner(op, value):
            if op in _REPEATS:
                piece = _written(inner, chance, most)
                tried.update(dict.fromkeys([(before, piece), ("", piece), ("", before + piece)]))
            _note_parts(inner, before, chance, most, tried)
        before += _written([(op, value)], chance, most)
        tried |= {("", before): None, ("", f"{before} "): None}
    tried[("", before[:-1])] = None


_REPEATS = (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT)


def _inner(op: Any, value: Any) -> list[list[Any]]:
    if op in _REPEATS:
        return [list(value[2])]
    if op is sre.BRANCH:
        return [list(branch) for branch in value[1]]
    if op is sre.SUBPATTERN:
        return [list(value[3])]
    return [list(value)] if op is sre.ATOMIC_GROUP else []


def _written(items: list[Any], chance: random.Random, most: int) -> str:
    """Return a text that *items* match, or nearly, with at most *most* of what may be repeated."""
    return "".join(_written_one(op, value, chance, most) for op, value in items)


def _written_one(op: Any, value: Any, chance: random.Random, most: int) -> str:
    if op is sre.LITERAL:
        return chr(value)
    if op in (sre.NOT_LITERAL, sre.ANY):
        return "b" if value == ord("a") else "a"
    if op is sre.IN:
        return _one_of(value, chance)
    inner = _inner(op, value)
    if op in _REPEATS:
        times = min(max(int(value[0]), most), int(value[1]))
        return "".join(_written(inner[0], chance, most) for _ in range(times))
    return _written(chance.choice(inner), chance, most) if inner else ""


def _one_of(choices: list[Any], chance: random.Random) -> str:
    negated = choices[0][0] is sre.NEGATE
    signs = [chr(code) for code in (*range(9, 14), *range(32, 127))]
    allowed = [sign for sign in signs if any(_holds(one, sign) for one in choices[negated:]) is not negated]
    return chance.choice(allowed) if allowed else ""


def _holds(choice: Any, sign: str) -> bool:
    op, value = choice
    if op is sre.LITERAL:
        return ord(sign) == value
    if op is sre.RANGE:
        return value[0] <= ord(sign) <= value[1]
    named = str(value).rpartition("_")[2]
    has = {"DIGIT": sign.isdecimal(), "SPACE": sign.isspace(), "WORD": sign.isalnum() or sign == "_"}[named]
    return has is not ("_NOT_" in str(value))


def seconds(found: Found, before: str, piece: str, n: int, times: int = 1) -> float:
    """Return how long this thread computes over *before* and *n* characters of *piece*: the least of some times."""
    # The last character is one that hardly anything matches: only a failure makes a pattern try again.
    text: Any = before + (piece * (n // len(piece) + 1))[:n] + "\x00"
    if isinstance(found.pattern, bytes):
        text = text.encode("utf-8", "replace")
    compiled = re.compile(found.pattern, found.flags)
    least = 1e9
    for _ in range(times):
        began = time.thread_time()
        if found.anchored:
            compiled.match(text)
            compiled.fullmatch(text)
        else:
            sum(1 for _ in compiled.finditer(text))
        least = min(least, time.thread_time() - began)
    return least
