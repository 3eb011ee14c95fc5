"""A document as Markdown, as a person would write it; `parsing` reads it back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rolecall_server.team.documents.document import Document
from rolecall_server.team.documents.markdown.escaping import escape, escape_cell
from rolecall_server.team.documents.markdown.forms import FieldForm, Form, forms_of, labels_of
from rolecall_server.team.documents.markdown.mermaid import write_mermaid
from rolecall_server.team.documents.values import Entry, Value

SECTION_LEVEL = 2
ENTRY_LEVEL = 3


def render(document: Document) -> str:
    """Return *document* as Markdown: its provenance first, then a section for each field that holds something."""
    return "\n".join([*_head(document), "", *_body(document.content)]) + "\n"


def _head(document: Document) -> Iterator[str]:
    yield "---"
    yield f"document: {document.id}"
    yield f"kind: {document.kind}"
    yield f"version: {document.version}"
    yield f"author: {document.author}"
    if document.because:
        yield f"because: {', '.join(document.because)}"
    yield f"created: {document.created_at.isoformat()}"
    yield "---"


def _body(content: Value) -> Iterator[str]:
    forms = forms_of(type(content))
    yield f"# {getattr(content, 'title', '')}"
    yield from _labelled(content)
    for form in forms.values():
        value = getattr(content, form.name)
        if not form.is_short and form.form is not Form.TITLE and value not in (None, "", ()):
            yield from ("", f"## {form.label}", "")
            yield from _section(form, value)


def _section(form: FieldForm, value: Any) -> Iterator[str]:
    match form.form:
        case Form.PROSE:
            yield escape(value, SECTION_LEVEL)
        case Form.LINES:
            yield from (f"- {line}" for line in value)
        case Form.REMARKS:
            yield from (f"- {_remark(each)}" for each in value)
        case Form.TABLE:
            yield from _table(form, value)
        case Form.DIAGRAM:
            yield from ("```mermaid", write_mermaid(value), "```")
        case _:
            for number, each in enumerate(value):
                yield from ([""] if number else [])
                yield from _entry(each)


def _entry(entry: Entry) -> Iterator[str]:
    model = type(entry)
    yield f"### {entry.id}: {entry.title}"
    yield from _labelled(entry)
    for form in forms_of(model).values():
        if form.form is Form.PROSE and getattr(entry, form.name):
            yield from ("", escape(getattr(entry, form.name), ENTRY_LEVEL, labels_of(model)))


def _labelled(item: Value) -> Iterator[str]:
    """Yield an empty line, then the short fields of *item* and its lists; the lists of a whole document are sections
    instead.
    """
    lines = [line for form in forms_of(type(item)).values() for line in _field(form, item)]
    yield from ("", *lines) if lines else ()


def _field(form: FieldForm, item: Value) -> Iterator[str]:
    value = getattr(item, form.name)
    if form.is_short and (form.is_to_fill or value not in (None, "", ())):
        yield f"- **{form.label}:** {short_text(form, value)}".rstrip()
    elif form.form is Form.LINES and value and hasattr(item, "id"):
        yield f"- **{form.label}:**"
        yield from (f"  - {line}" for line in value)


def short_text(form: FieldForm, value: Any) -> str:
    """Return the text of a value that fits in a line, as a document has it."""
    match form.form:
        case Form.IDS:
            return ", ".join(value)
        case Form.CODES:
            return ", ".join(f"`{code}`" for code in value)
        case Form.CODE:
            return f"`{value}`"
        case _:
            return str(value)


def _remark(remark: Value) -> str:
    """``the subject (R1, R2): some words``; a subject that is no name in code is bold, with the colon in it."""
    forms = [*forms_of(type(remark)).values()]
    subject, words = getattr(remark, forms[0].name), getattr(remark, forms[-1].name)
    if forms[0].form is not Form.CODE:
        return f"**{subject}:** {words}"
    serves = ", ".join(getattr(remark, "serves", ()))
    return f"`{subject}`" + (f" ({serves})" if serves else "") + (f": {words}" if words else "")


def _table(form: FieldForm, rows: Any) -> Iterator[str]:
    assert form.item is not None
    columns = [*forms_of(form.item).values()]
    yield f"| {' | '.join(column.label for column in columns)} |"
    yield f"| {' | '.join('---' for _ in columns)} |"
    for row in rows:
        cells = (short_text(column, getattr(row, column.name)) for column in columns)
        yield f"| {' | '.join(escape_cell(cell) for cell in cells)} |"
