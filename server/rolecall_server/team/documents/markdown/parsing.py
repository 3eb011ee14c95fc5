"""Markdown back into a document: what the developer wrote, in whatever order, and what of it is not understood."""

from __future__ import annotations

import difflib
import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from rolecall_server.team.documents.document import CONTENTS, Document, Kind
from rolecall_server.team.documents.markdown.escaping import (
    fenced_blocks,
    fenced_lines,
    heading,
    labelled,
    opens_block,
    read_cells,
    unescape,
)
from rolecall_server.team.documents.markdown.forms import FieldForm, Form, forms_of, labels_of
from rolecall_server.team.documents.markdown.mermaid import NotMermaid, read_mermaid
from rolecall_server.team.documents.markdown.rendering import ENTRY_LEVEL, SECTION_LEVEL
from rolecall_server.team.documents.values import Value

_HEAD_NAMES = {"document": "id", "created": "created_at"}
_BULLET = re.compile(r"(\s*)(?:[-*+]|\d{1,9}[.)])\s+(.*)")
_ENTRY = re.compile(r"([A-Z][0-9]+)(?::|\.|\s[-–—])?(?:\s+(.*))?")  # noqa: RUF001 - a developer may type that dash
_REMARK = re.compile(
    r"(?:`([^`]+)`|([^\s:`*]+(?:::[^\s:`]+)?))"  # the subject
    r"(?:\s*\(\s*((?:[A-Z][0-9]+[,\s]*)+)\))?"  # the ids it serves
    r"\s*(?::|[-–—](?=\s))?\s*(.*)"  # noqa: RUF001
)
_TOPIC = re.compile(r"\*\*([^*]+?):?\*\*:?\s*(.*)")
_LISTS = (Form.LINES, Form.IDS, Form.CODES, Form.ENTRIES, Form.REMARKS, Form.TABLE)
_RULE = re.compile(r"[\s|:-]+")


@dataclass(frozen=True)
class Misread:
    """Something in a document that is not understood, or not allowed."""

    line: int
    """From 0."""
    what: str


@dataclass(frozen=True)
class _Section:
    """A heading and what is below it, down to the next one."""

    title: str
    line: int
    """The line of the heading."""
    level: int
    """0 for what stands before the first heading."""
    body: tuple[str, ...]


@dataclass
class _Reading:
    """The state of reading so far: problems, and the line that each value came from."""

    problems: list[Misread] = field(default_factory=list[Misread])
    lines: dict[tuple[str | int, ...], int] = field(default_factory=dict[tuple[str | int, ...], int])

    def complain(self, line: int, what: str) -> None:
        self.problems.append(Misread(line, what))


def parse(kind: Kind, text: str, known: Document | None = None) -> tuple[Document | None, tuple[Misread, ...]]:
    """Return the document of that *kind* that *text* says, and what in it is not understood, in order.

    Where the head is missing or spoiled, it is that of *known*. The document is ``None`` where it could not be
    built on: a problem says why. A section or a field that is missing is empty; a new item without an id gets one.
    """
    reading = _Reading()
    # Not `splitlines`: it splits at form feeds and the like too, where editors do not begin a new line.
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    head, start = _read_head(lines)
    content = _read_content(reading, CONTENTS[kind], lines, start)
    _doubt_blocks(reading, CONTENTS[kind], lines)
    document = None
    try:
        written = CONTENTS[kind].model_validate(content)
        document = Document.model_validate(_provenance(known) | head | {"content": written})
    except ValidationError as error:
        for each in error.errors():
            line, name = _place(reading, each["loc"])
            message = each["msg"].removeprefix("Value error, ")
            reading.complain(line, f"{name}: {message[:1].lower()}{message[1:]}")
    return document, tuple(sorted(reading.problems, key=lambda problem: problem.line))


def _provenance(known: Document | None) -> dict[str, Any]:
    if known is None:
        return {"id": "new", "author": "developer"}
    return known.model_dump(include={"id", "version", "author", "because", "created_at"})


def _read_head(lines: Sequence[str]) -> tuple[dict[str, Any], int]:
    """Return the fields between the first two lines of dashes, and the number of the line after; none where there are
    none.
    """
    if not lines or lines[0].rstrip() != "---":
        return {}, 0
    end = next((number for number, line in enumerate(lines) if number and line.rstrip() == "---"), None)
    if end is None:
        return {}, 1
    pairs = (line.partition(":") for line in lines[1:end])
    values: dict[str, Any] = {_HEAD_NAMES.get(name.strip(), name.strip()): value.strip() for name, _, value in pairs}
    values["because"] = tuple(values.get("because", "").replace(",", " ").split())
    fields = set(Document.model_fields) - {"kind", "content"}
    return {name: value for name, value in values.items() if name in fields and value}, end + 1


def _read_content(reading: _Reading, model: type[Value], lines: Sequence[str], start: int) -> dict[str, Any]:
    forms = {form.label.casefold(): form for form in forms_of(model).values() if not form.is_short}
    values = _nothing(model)
    for section in _sections(lines[start:], SECTION_LEVEL, start):
        form = forms.get(section.title.casefold())
        if section.level < SECTION_LEVEL and "title" not in values:
            # A tuple of one, as keys are places as pydantic tells them. The line is -1 where no heading stands above.
            reading.lines["title",] = max(section.line, 0)
            values |= _read_top(reading, model, section)
        elif form is not None:
            reading.lines.setdefault((form.name,), section.line)
            found = _read_section(reading, form, section)
            values[form.name] = _joined(values.get(form.name), found)
        else:
            near = difflib.get_close_matches(section.title.casefold(), forms, 1)
            hint = f"; is it {forms[near[0]].label!r}?" if near else ""
            reading.complain(section.line, f"there is no section {section.title!r} here, it is left out{hint}")
    return values


def _doubt_blocks(reading: _Reading, model: type[Value], lines: Sequence[str]) -> None:
    """Say which fenced block holds both a section and the beginning of another block: its end may have been lost."""
    labels = {form.label.casefold() for form in forms_of(model).values()}
    for block in fenced_blocks(lines):
        inside = [lines[number] for number in block[1:-1]]
        titles = [found[1] for line in inside if (found := heading(line, ENTRY_LEVEL)) is not None]
        holds_section = any(title.casefold() in labels or _ENTRY.fullmatch(title) for title in titles)
        if holds_section and any(map(opens_block, inside)):
            what = (
                f"this block goes on to line {block[-1] + 1} and holds what looks like a section: is its end missing?"
            )
            reading.complain(block[0], what)


def _read_top(reading: _Reading, model: type[Value], section: _Section) -> dict[str, Any]:
    """Return the title, and the fields below it."""
    values, rest = _read_labelled(reading, model, section, ())
    if (stray := next((line.strip() for line in rest if line.strip()), None)) is not None:
        reading.complain(_line_of(section, stray), f"{stray!r} is in no section, it is left out")
    return values | ({"title": section.title} if section.title else {})


def _line_of(section: _Section, text: str) -> int:
    """Return the line of *section* that says *text*, or its first."""
    lines = enumerate(section.body, section.line + 1)
    return next((number for number, line in lines if line.strip() == text), section.line)


def _nothing(model: type[Value]) -> dict[str, Any]:
    """Return the values of *model* for a text that has none of its sections and none of its lists."""
    forms = forms_of(model).values()
    lists = {form.name: list[Any]() for form in forms if form.form in _LISTS}
    return lists | {form.name: "" for form in forms if form.form is Form.PROSE}


def _joined(first: Any, second: Any) -> Any:
    """Join what two sections of one name say."""
    if isinstance(first, list) and isinstance(second, list):
        return [*first, *second]
    return f"{first}\n\n{second}" if first and isinstance(second, str) else second


def _sections(lines: Sequence[str], level: int, first: int) -> Iterator[_Section]:
    """Yield the parts of *lines*, which begin at line *first*, between headings down to *level*."""
    fenced = fenced_lines(lines)
    found = (None if number in fenced else heading(line, level) for number, line in enumerate(lines))
    starts = [(number, *each) for number, each in enumerate(found) if each is not None]
    starts = [(-1, 0, ""), *starts]
    ends = [*(number for number, *_ in starts[1:]), len(lines)]
    for (number, its_level, title), end in zip(starts, ends, strict=True):
        body = tuple(lines[number + 1 : end])
        if its_level or any(line.strip() for line in body):
            yield _Section(title, number + first, its_level, body)


def _read_section(reading: _Reading, form: FieldForm, section: _Section) -> Any:
    match form.form:
        case Form.PROSE:
            return unescape(_text(section.body), SECTION_LEVEL)
        case Form.DIAGRAM:
            return _read_diagram(reading, section)
        case Form.TABLE:
            return _read_table(reading, form, section)
        case Form.ENTRIES:
            return _read_entries(reading, form, section)
        case _:
            bullets = [*_bullets(section.body, section.line + 1)]
            for index, (line, _) in enumerate(bullets):
                reading.lines[form.name, index] = line
            if form.form is Form.REMARKS and form.item is not None:
                return [_read_remark(form.item, text) for _, text in bullets]
            return [text for _, text in bullets]


def _text(lines: Sequence[str]) -> str:
    return "\n".join(lines).strip("\n")


def _bullets(lines: Sequence[str], first: int) -> Iterator[tuple[int, str]]:
    """Yield each item of a list with its line; the lines that follow an item belong to it, and other text is an item
    too.
    """
    at, text = first, ""
    # The empty line at the end has the last item yielded.
    for number, line in enumerate([*lines, ""], first):
        bullet = _BULLET.fullmatch(line)
        if bullet or not line.strip():
            if text:
                yield at, text
            at, text = number, bullet[2].strip() if bullet else ""
        else:
            at, text = (at, f"{text} {line.strip()}") if text else (number, line.strip())


def _read_diagram(reading: _Reading, section: _Section) -> Any:
    """Return the fields of the section's diagram; None without one."""
    fenced = sorted(fenced_lines(section.body))
    if not fenced:
        if any(line.strip() for line in section.body):
            reading.complain(section.line, "the diagram is not in a fenced block, which begins with ```mermaid")
        return None
    last = next(number for number in fenced if number + 1 not in fenced)
    text = "\n".join(section.body[fenced[0] + 1 : last])
    try:
        return read_mermaid(text)
    except NotMermaid as error:
        reading.complain(section.line + 2 + fenced[0] + error.line, str(error))
        return None


def _read_table(reading: _Reading, form: FieldForm, section: _Section) -> list[dict[str, Any]]:
    assert form.item is not None
    columns = {column.label.casefold(): column for column in forms_of(form.item).values()}
    header: list[str] = []
    rows: list[dict[str, Any]] = []
    for number, line in enumerate(section.body, section.line + 1):
        if not line.lstrip().startswith("|") or (header and not rows and _RULE.fullmatch(line)):
            continue
        cells = read_cells(line)
        if not header:
            header = [cell.casefold() for cell in cells]
            continue
        reading.lines[form.name, len(rows)] = number
        named = zip(header, cells, strict=False)
        rows.append({columns[name].name: _short(columns[name], cell) for name, cell in named if name in columns})
    return rows


def _read_entries(reading: _Reading, form: FieldForm, section: _Section) -> list[dict[str, Any]]:
    assert form.item is not None
    found = [*_sections(section.body, ENTRY_LEVEL, section.line + 1)]
    if found and not found[0].level:
        stray = next(line.strip() for line in found[0].body if line.strip())
        reading.complain(
            _line_of(found[0], stray), f"{stray!r} stands before the first {_noun(form.item)}, it is left out"
        )
        del found[0]
    entries: list[dict[str, Any]] = []
    for each, (its_id, title) in zip(found, _name_entries(form.item, found), strict=True):
        where = (form.name, len(entries))
        reading.lines[where] = each.line
        entries.append(
            _nothing(form.item) | {"id": its_id, "title": title} | _read_entry(reading, form.item, each, where)
        )
    return entries


def _name_entries(model: type[Value], sections: Sequence[_Section]) -> Iterator[tuple[str, str]]:
    """Yield the id and the title of each section; one without an id gets the next that is free."""
    letter = _letter(model)
    matches = [_ENTRY.fullmatch(section.title) for section in sections]
    last = max((int(match[1][1:]) for match in matches if match and match[1][0] == letter), default=0)
    for section, match in zip(sections, matches, strict=True):
        last += match is None
        yield (match[1], match[2] or "") if match else (f"{letter}{last}", section.title)


def _noun(model: type[Value]) -> str:
    """``RuleProposal`` as ``rule proposal``."""
    return re.sub(r"(?<!^)([A-Z])", r" \1", model.__name__).lower()


def _letter(model: type[Value]) -> str:
    """Return the letter that the ids of *model* begin with."""
    patterns = (getattr(mark, "pattern", None) for mark in model.model_fields["id"].metadata)
    return next(pattern.lstrip("^")[0] for pattern in patterns if pattern)


def _read_entry(
    reading: _Reading, model: type[Value], section: _Section, where: tuple[str | int, ...]
) -> dict[str, Any]:
    values, rest = _read_labelled(reading, model, section, where)
    prose = next((form for form in forms_of(model).values() if form.form is Form.PROSE), None)
    text = unescape(_text(rest), ENTRY_LEVEL, labels_of(model)).strip()
    if prose is not None:
        return values | {prose.name: text}
    if text:
        first = text.splitlines()[0]
        reading.complain(_line_of(section, first), f"a {_noun(model)} has no place for {first!r}, it is left out")
    return values


def _read_labelled(
    reading: _Reading, model: type[Value], section: _Section, where: tuple[str | int, ...]
) -> tuple[dict[str, Any], list[str]]:
    """Return the fields that stand as ``- **Label:** …`` in a section, and the lines that are none of those."""
    labels = labels_of(model)
    forms = {form.label.casefold(): form for form in forms_of(model).values()}
    fenced = fenced_lines(section.body)
    values: dict[str, Any] = {}
    rest: list[str] = []
    number = 0
    while number < len(section.body):
        line = section.body[number]
        found = labelled(line, labels) if number not in fenced else None
        below = _indented(section.body[number + 1 :]) if found else ()
        if found is None:
            rest.append(line)
        elif value := _read_field(reading, forms[found[0]], (found[1], *below), section.line + 1 + number, where):
            values[forms[found[0]].name] = value
        number += 1 + len(below)
    return values, rest


def _indented(lines: Sequence[str]) -> tuple[str, ...]:
    return tuple(itertools.takewhile(lambda line: line.startswith(("  ", "\t")), lines))


def _read_field(
    reading: _Reading, form: FieldForm, lines: Sequence[str], first: int, where: tuple[str | int, ...]
) -> Any:
    """Return the value in *lines*, the first of which is the text beside the label; nothing where that is empty."""
    reading.lines[*where, form.name] = first
    if form.form is Form.LINES:
        bullets = [*_bullets(lines, first)]
        reading.lines |= {(*where, form.name, index): line for index, (line, _) in enumerate(bullets)}
        return [text for _, text in bullets]
    return _short(form, " ".join(line.strip() for line in lines).strip())


def _short(form: FieldForm, text: str) -> Any:
    """Return the value that `rendering.short_text` wrote."""
    match form.form:
        case Form.IDS:
            return text.replace(",", " ").split()
        case Form.CODES:
            return re.findall(r"`([^`]+)`", text) or [part.strip() for part in text.split(",") if part.strip()]
        case _:
            return text


def _read_remark(model: type[Value], text: str) -> dict[str, Any]:
    forms = [*forms_of(model).values()]
    subject, words = forms[0].name, forms[-1].name
    if forms[0].form is not Form.CODE:
        match = _TOPIC.fullmatch(text)
        topic, _, rest = text.partition(":")
        return {subject: match[1], words: match[2]} if match else {subject: topic, words: rest.strip()}
    match = _REMARK.fullmatch(text)
    if match is None:
        return {subject: "", words: text}
    values: dict[str, Any] = {subject: match[1] or match[2], words: match[4]}
    if match[3]:
        values["serves"] = match[3].replace(",", " ").split()
    return values


def _place(reading: _Reading, loc: Sequence[str | int]) -> tuple[int, str]:
    """Return the line that a value came from, and what it is called there."""
    where = tuple(loc)
    named = [part for part in where if isinstance(part, str)]
    name = named[-1].replace("_", " ").capitalize() if named else "The document"
    for length in range(len(where), 0, -1):
        if where[:length] in reading.lines:
            return reading.lines[where[:length]], name
    return 0, name
