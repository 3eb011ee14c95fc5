"""Diagrams as Mermaid: written so that they are valid whatever the names, and read back after an edit by hand.

What is written is a small part of Mermaid. Each character that could mean something to Mermaid is an entity code
(``#35;``), which Mermaid shows as the character. Source: https://mermaid.js.org/intro/syntax-reference.html
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeAlias

from rolecall_server.team.documents.diagrams import CallFlow, ClassDiagram, Quadrant, RelationKind

Diagram: TypeAlias = ClassDiagram | CallFlow | Quadrant

_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _().,:=[]*+-/'?!&$|")
_INSIDE_MERMAID = frozenset("ﬂ°¶ß")
"""Characters that Mermaid itself puts in place of entity codes while it reads."""
_ENTITY = re.compile(r"#(\d{1,7});")
_PLAIN_NAME = re.compile(r"[A-Z][A-Za-z0-9]*")
_KEYWORD = re.compile(
    "accdescr|acctitle|activate|actor|alt|and|as|autonumber|box|break|callback|class|classdef|click|create|critical|cssclass|deactivate|"
    "default|destroy|direction|else|end|href|link|links|loop|namespace|note|off|opt|option|over|par|participant|"
    "properties|rect|style|title",
    re.IGNORECASE,
)
_ARROWS: Mapping[RelationKind, str] = MappingProxyType(
    {RelationKind.INHERITS: "--|>", RelationKind.HAS: "o--", RelationKind.USES: "..>"}
)
_READ_ARROWS: Mapping[str, tuple[RelationKind, bool]] = MappingProxyType(
    {
        "--|>": (RelationKind.INHERITS, False),
        "<|--": (RelationKind.INHERITS, True),
        "..|>": (RelationKind.INHERITS, False),
        "<|..": (RelationKind.INHERITS, True),
        "o--": (RelationKind.HAS, False),
        "--o": (RelationKind.HAS, True),
        "*--": (RelationKind.HAS, False),
        "--*": (RelationKind.HAS, True),
        "..>": (RelationKind.USES, False),
        "<..": (RelationKind.USES, True),
        "-->": (RelationKind.USES, False),
        "<--": (RelationKind.USES, True),
    }
)
"""The relation that each arrow of a class diagram stands for, and whether it points from right to left."""

_METHOD = re.compile(r"[-+]?\w[^()]*\(.*\)")
_ID = r"[A-Za-z_]\w*"
_CLASS = re.compile(rf'class\s+({_ID})\s*+(?:\["([^"]*)"\]\s*+)?(\{{)?')
_MEMBER = re.compile(rf"({_ID})\s*:\s*(.+)")
_RELATION = re.compile(
    rf"({_ID})\s+({'|'.join(map(re.escape, _READ_ARROWS))})\s+({_ID})\s*(?::\s*(.*))?",
)
_PARTICIPANT = re.compile(rf"(?:participant|actor)\s+({_ID})(?:\s+as\s+(.+))?")
_MESSAGE = re.compile(rf"({_ID})\s*(-?->>|-?->)\s*({_ID})\s*:\s*(.+)")
_TITLE = re.compile(r"title\s+(.+)")
_NAME = r'("[^"]++"|[^"]{1,200}?)'  # in quotes one may be long: characters that Mermaid could misread take six
_AXIS = re.compile(rf"([xy])-axis\s++{_NAME}\s{{0,20}}-->\s*+{_NAME}")
_POINT = re.compile(rf"{_NAME}\s{{0,20}}:\s*+\[\s*+([\d.]++)\s*+,\s*+([\d.]++)\s*+\]")


class NotMermaid(ValueError):
    """A line of a diagram that is not understood; *line* counts from 0 within the diagram."""

    def __init__(self, what: str, line: int) -> None:
        super().__init__(what)
        self.line = line


def write_mermaid(diagram: Diagram) -> str:
    """Return *diagram* as Mermaid, without a line end at its end."""
    match diagram:
        case ClassDiagram():
            lines = _write_classes(diagram)
        case CallFlow():
            lines = _write_calls(diagram)
        case Quadrant():
            lines = _write_quadrant(diagram)
    return "\n".join(lines)


def read_mermaid(text: str) -> dict[str, Any]:
    """Return the fields of the diagram that *text* draws, to be validated as `ClassDiagram`, `CallFlow` or `Quadrant`.

    Raises:
        NotMermaid: a line is none of those that `write_mermaid` writes, or a close relative.
    """
    lines = [(number, line.strip()) for number, line in enumerate(text.split("\n"))]
    lines = [(number, line) for number, line in lines if line and not line.startswith("%%")]
    if not lines or lines[0][1] not in _READERS:
        first = lines[0] if lines else (0, "")
        raise NotMermaid(f"a diagram begins with one of {', '.join(_READERS)}", first[0])
    return _READERS[lines[0][1]](lines[1:])


def encode(text: str, *, without: str = "") -> str:
    """Return *text* with entity codes for what Mermaid could misread, and for the characters *without*."""
    return "".join(char if _is_plain(char) and char not in without else f"#{ord(char)};" for char in text)


def decode(text: str) -> str:
    """Return the text that `encode` was given."""
    return _ENTITY.sub(lambda match: _character(match[1]) or match[0], text)


def _is_plain(char: str) -> bool:
    return char in _PLAIN if char.isascii() else char.isprintable() and char not in _INSIDE_MERMAID


def _character(digits: str) -> str:
    try:
        char = chr(int(digits))
    except ValueError:
        return ""
    return "" if "\ud800" <= char <= "\udfff" else char


def _ids(names: Iterable[str], letter: str) -> dict[str, str]:
    """Return a name that Mermaid takes for each of *names*: its own where that is plain, else the letter and
    a number.
    """
    ids: dict[str, str] = {}
    for name in dict.fromkeys(names):
        # A name such as `C2` may be what another name is given below.
        is_plain = _PLAIN_NAME.fullmatch(name) and not _KEYWORD.fullmatch(name) and not name[1:].isdigit()
        ids[name] = name if is_plain else f"{letter}{len(ids) + 1}"
    return ids


def _write_classes(diagram: ClassDiagram) -> Iterator[str]:
    ids = _ids((drawn.name for drawn in diagram.classes), "C")
    yield "classDiagram"
    for drawn in diagram.classes:
        label = "" if ids[drawn.name] == drawn.name else f'["{encode(drawn.name)}"]'
        if drawn.members:
            yield f"    class {ids[drawn.name]}{label} {{"
            yield from (f"        {_member(member)}" for member in drawn.members)
            yield "    }"
        else:
            yield f"    class {ids[drawn.name]}{label}"
    for relation in diagram.relations:
        label = f" : {encode(relation.label, without=':')}" if relation.label else ""
        yield f"    {ids[relation.source]} {_ARROWS[relation.kind]} {ids[relation.target]}{label}"


def _member(text: str) -> str:
    """Return a member so that a last ``*`` or ``$`` does not make it abstract or static, nor a bracket without a name
    before it a method.
    """
    without = "" if _METHOD.match(text) else "()"
    return encode(text[:-1], without=without) + encode(text[-1], without=f"*${without}")


def _write_calls(flow: CallFlow) -> Iterator[str]:
    ids = _ids((name for step in flow.steps for name in (step.caller, step.callee)), "P")
    yield "sequenceDiagram"
    for name, its_id in ids.items():
        yield f"    participant {its_id}" + ("" if its_id == name else f" as {encode(name, without=':')}")
    for step in flow.steps:
        arrow = "-->>" if step.is_reply else "->>"
        yield f"    {ids[step.caller]}{arrow}{ids[step.callee]}: {encode(step.message)}"


def _write_quadrant(chart: Quadrant) -> Iterator[str]:
    yield "quadrantChart"
    yield f"    title {encode(chart.title)}"
    yield f'    x-axis "{encode(chart.x_low)}" --> "{encode(chart.x_high)}"'
    yield f'    y-axis "{encode(chart.y_low)}" --> "{encode(chart.y_high)}"'
    for point in chart.points:
        yield f'    "{encode(point.name)}": [{point.x:g}, {point.y:g}]'


Numbered: TypeAlias = Sequence[tuple[int, str]]


def _read_classes(lines: Numbered) -> dict[str, Any]:
    members: dict[str, list[str]] = {}
    names: dict[str, str] = {}
    relations: list[dict[str, str]] = []
    open_class = ""
    for number, line in lines:
        if open_class:
            if line == "}":
                open_class = ""
            else:
                members[open_class].append(decode(line))
        elif match := _CLASS.fullmatch(line):
            members.setdefault(match[1], [])
            if match[2]:
                names[match[1]] = decode(match[2])
            open_class = match[1] if match[3] else ""
        elif match := _RELATION.fullmatch(line):
            relations.append(_relation(match))
            members.setdefault(match[1], [])
            members.setdefault(match[3], [])
        elif match := _MEMBER.fullmatch(line):
            members.setdefault(match[1], []).append(decode(match[2]))
        else:
            raise NotMermaid(f"{line!r} is no class, member or relation", number)
    for relation in relations:
        relation["source"] = names.get(relation["source"], relation["source"])
        relation["target"] = names.get(relation["target"], relation["target"])
    classes = [{"name": names.get(each, each), "members": held} for each, held in members.items()]
    return {"classes": classes, "relations": relations}


def _relation(match: re.Match[str]) -> dict[str, str]:
    kind, is_reversed = _READ_ARROWS[match[2]]
    source, target = (match[3], match[1]) if is_reversed else (match[1], match[3])
    return {"source": source, "kind": kind, "target": target, "label": decode(match[4] or "")}


def _read_calls(lines: Numbered) -> dict[str, Any]:
    names: dict[str, str] = {}
    steps: list[dict[str, object]] = []
    for number, line in lines:
        if match := _PARTICIPANT.fullmatch(line):
            names[match[1]] = decode(match[2] or match[1])
        elif match := _MESSAGE.fullmatch(line):
            caller, callee = names.get(match[1], match[1]), names.get(match[3], match[3])
            is_reply = match[2].startswith("--")
            steps.append({"caller": caller, "callee": callee, "message": decode(match[4]), "is_reply": is_reply})
        else:
            raise NotMermaid(f"{line!r} is no participant and no message", number)
    return {"steps": steps}


def _read_quadrant(lines: Numbered) -> dict[str, Any]:
    fields: dict[str, Any] = {"points": []}
    for number, line in lines:
        if match := _AXIS.fullmatch(line):
            low, high = (decode(name.strip('"')) for name in match.group(2, 3))
            fields |= {f"{match[1]}_low": low, f"{match[1]}_high": high}
        elif match := _POINT.fullmatch(line):
            fields["points"].append({"name": decode(match[1].strip('"')), "x": match[2], "y": match[3]})
        elif match := _TITLE.fullmatch(line):
            fields["title"] = decode(match[1])
        else:
            raise NotMermaid(f"{line!r} is no title, axis or point", number)
    return fields


_READERS: Mapping[str, Callable[[Numbered], dict[str, Any]]] = MappingProxyType(
    {"classDiagram": _read_classes, "sequenceDiagram": _read_calls, "quadrantChart": _read_quadrant}
)
