"""Messages as the next role reads them: documents as Markdown, changes as diffs with the lines they lead to."""

from __future__ import annotations

import difflib
import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from typing import Any

from rolecall_server.craft.edits.notes import tell_notes
from rolecall_server.store.messages import MessageRow
from rolecall_server.team.documents import (
    CONTENTS,
    ChangePlan,
    Content,
    Document,
    ExecutionReport,
    Kind,
    Outcome,
    Requirements,
    TaskList,
    render,
)
from rolecall_server.team.documents.values import one_line
from rolecall_server.team.messages.board import Pool, body_of, content_of
from rolecall_server.team.messages.edits import Edits
from rolecall_server.team.messages.interface import interface_of
from rolecall_server.workspace import Workspace, read_text_or_none, split_lines

_CONTEXT_LINES = 12
_MAX_DIFF_CHARACTERS = 60_000
_MAX_BAD_TESTS = 30
_MOSTLY = 0.5
"""Of a line of what is accepted: with more of it in code it is an example."""
_IN_CODE = re.compile(r"`([^`\n]+)`")
_TO_FILL = re.compile(r"^- \*\*Answer:\*\*\n", re.MULTILINE)


def tell(messages: Iterable[MessageRow], workspace: Workspace, outlined: Collection[str] = ()) -> str:
    """Return *messages*, each under a heading; changes of the kinds *outlined* without the bodies of functions.

    What another of them says is left out: questions that were answered, and what is accepted of a task where the
    requirements have the same examples.
    """
    messages = [*messages]
    answered = {one["question"] for message in messages if message.kind == "answers" for one in _answers_in(message)}
    required = "\n".join(_shown(message, workspace) for message in messages if message.kind == Kind.REQUIREMENTS)
    said = _ToldElsewhere(frozenset(answered), required, outlined)
    shown = {message: _shown(message, workspace, said).strip() for message in messages}
    return "\n".join(f"# {_heading(message)}\n\n{text}\n" for message, text in shown.items() if text)


def describe_message(message: MessageRow, pool: Pool | None = None) -> str:
    """``m7  architect: design v2 (d3), because of m2, m5; read by engineer``"""
    about = f" {message.subject}" if message.subject else ""
    kept = f" ({message.document_id})" if message.document_id else ""
    because = f", because of {', '.join(f'm{number}' for number in message.because)}" if message.because else ""
    readers = pool.readers.get(message.id, ()) if pool else ()
    read = f"; read by {', '.join(readers)}" if readers else ""
    said = _in_short(message)
    return f"{message.code}  {message.sender}: {message.kind}{about} v{message.version}{kept}{because}{read}{said}"


def _in_short(message: MessageRow) -> str:
    """Return the content of a message, where that is short and worth knowing at once: a question, its answer, files by
    task; else empty.
    """
    if message.kind == "doubt":
        return f": {one_line(body_of(message)['said'])}"
    if message.kind == "plan" and "strategy" in (plan := body_of(message)):
        return f": strategy {plan['strategy']['name']}, because {one_line(plan['strategy']['why'])}"
    if message.kind in ("question", "answer"):
        return f": {one_line(body_of(message)[message.kind])}"
    if message.kind != Kind.CHANGE_PLAN:
        return ""
    steps = content_of(message, ChangePlan).steps
    return f": {'; '.join(f'{step.code} ({step.what})' for step in steps)}" if steps else ""


def describe_pool(pool: Pool) -> Iterator[str]:
    """Yield a line for each message, then one for each step that failed."""
    yield from (describe_message(message, pool) for message in pool.messages)
    for step in pool.steps.values():
        if step.state == "failed":
            about = f" {step.subject}" if step.subject else ""
            yield f"{step.role}{about} failed: {step.error}"


def messages_json(pool: Pool) -> list[dict[str, Any]]:
    """Return the messages as programs read them, without what they say."""
    return [
        {
            "message": message.code,
            "kind": message.kind,
            "subject": message.subject,
            "version": message.version,
            "document": message.document_id,
            "sender": message.sender,
            "because": [f"m{number}" for number in message.because],
            "readBy": list(pool.readers.get(message.id, ())),
            "at": datetime.fromtimestamp(message.at_s, UTC).isoformat(timespec="seconds"),
        }
        for message in pool.messages
    ]


def document_in(message: MessageRow) -> Document:
    """Return the document that a message brings."""
    return Document(
        id=message.document_id or message.code,
        kind=Kind(message.kind),
        version=message.version,
        author=message.sender,
        because=tuple(f"m{number}" for number in message.because),
        created_at=datetime.fromtimestamp(message.at_s, UTC),
        content=content_in(message),
    )


def content_in(message: MessageRow) -> Content:
    """Return the content of the document that a message brings."""
    return content_of(message, CONTENTS[Kind(message.kind)])


def diff_of(edits: Edits, workspace: Workspace, unseen: Mapping[str, Collection[int]] | None = None) -> str:
    """Return the changes of *edits*, with the number of each line as it is afterwards; of each file without the lines
    *unseen*, which are from 0.
    """
    moved = {new: old for old, new in edits.renames.items()}
    parts: list[str] = []
    for path, text in edits.files.items():
        if text is None:
            # The old name of a renamed file is told beside the new one.
            if path not in edits.renames:
                parts.append(f"## {path}\n\nIt is deleted.\n")
            continue
        before = read_text_or_none(workspace, moved.get(path, path))
        said = f", renamed from {moved[path]}" if path in moved else ", new" if before is None else ""
        hidden = (unseen or {}).get(path, ())
        lines = "\n".join(_numbered(split_lines(before or ""), split_lines(text), hidden))
        parts.append(f"## {path}{said}\n\n````\n{lines}\n````\n")
    whole = "\n".join(parts)
    if len(whole) > _MAX_DIFF_CHARACTERS:
        # The cut goes through the fence of a file: the last line closes it.
        return f"{whole[:_MAX_DIFF_CHARACTERS]}\n[cut: {len(whole) - _MAX_DIFF_CHARACTERS:,} characters more]\n````\n"
    return whole


def change_of(edits: Edits, workspace: Workspace, unseen: Mapping[str, Collection[int]] | None = None) -> str:
    """Return the changes of *edits* as `diff_of` does, below what was written from memory where anything was."""
    return "\n\n".join(part for part in (tell_notes(edits.notes), diff_of(edits, workspace, unseen)) if part)


def _heading(message: MessageRow) -> str:
    named = {
        "brief": "The brief",
        "doubt": "What is settled",
        "change": "The change",
        "correction": "What the developer answered",
    }
    about = f" ({message.subject})" if message.subject else ""
    return named.get(message.kind, f"The {message.kind}{about}")


@dataclass(frozen=True)
class _ToldElsewhere:
    """Fields that a reader is told elsewhere, or not at all."""

    answered: frozenset[str] = frozenset()
    """The titles of questions."""
    required: str = ""
    """The requirements."""
    outlined: Collection[str] = ()
    """The kinds of changes whose functions are told by their signatures."""


def _shown(message: MessageRow, workspace: Workspace, said: _ToldElsewhere = _ToldElsewhere()) -> str:
    if message.kind in said.outlined:
        return interface_of(content_of(message, Edits), workspace)
    if message.kind in set(Kind):
        document = document_in(message)
        return render_content(document.model_copy(update={"content": _in_short_form(document.content, said)}))
    if message.kind in ("brief", "doubt"):
        return brief_text(message) if message.kind == "brief" else settled_by([message])
    if message.kind in ("answers", "correction"):
        return "\n".join(map(_told_answer, _answers_in(message)))
    if message.kind in ("edits", "tests", "change", "answered"):
        edits = content_of(message, Edits)
        return f"{edits.rationale}\n\n{change_of(edits, workspace)}"
    return json.dumps(body_of(message), ensure_ascii=False, indent=1)


def _told_answer(answer: Mapping[str, str]) -> str:
    """Return a question with its answer; documents name it by its id, which runs of earlier versions did not keep."""
    name = f"{answer['id']}: " if "id" in answer else ""
    return f"- {name}{answer['question']}\n  {answer['answer']} ({answer['by']})"


def _in_short_form(content: Content, said: _ToldElsewhere) -> Content:
    match content:
        case ExecutionReport():
            return _counted(content)
        case Requirements():
            open_ones = (one for one in content.questions if one.title not in said.answered)
            return content.model_copy(update={"questions": tuple(open_ones)})
        case TaskList():
            tasks = (
                one.model_copy(update={"acceptance": _not_in(said.required, one.acceptance)}) for one in content.tasks
            )
            return content.model_copy(update={"tasks": tuple(tasks)})
        case _:
            return content


def _not_in(required: str, lines: Iterable[str]) -> tuple[str, ...]:
    """Return those of *lines* that *required* does not have: word for word, or all their examples in code where these
    are most of the line.
    """

    def stands_there(line: str) -> bool:
        examples = _IN_CODE.findall(line)
        is_mostly_code = sum(map(len, examples)) > len(line) * _MOSTLY
        return line in required or (is_mostly_code and all(one in required for one in examples))

    return tuple(line for line in lines if not stands_there(line))


def _answers_in(message: MessageRow) -> list[dict[str, str]]:
    return body_of(message)["answers"]


def _counted(report: ExecutionReport) -> ExecutionReport:
    """Return *report* with the number of tests for each outcome, and with only those tests that did not go well.

    A repository has hundreds of tests; the names of those that pass tell a reader nothing.
    """
    counts = Counter(one.outcome for one in report.outcomes)
    said = ", ".join(f"{counts[outcome]} {outcome}" for outcome in Outcome if counts[outcome])
    bad = [one for one in report.outcomes if one.outcome in (Outcome.FAILED, Outcome.ERROR, Outcome.NOT_RUN)]
    title = f"{report.title}: {said}" if said else report.title
    return report.model_copy(update={"title": title, "outcomes": tuple(bad[:_MAX_BAD_TESTS])})


def brief_text(message: MessageRow) -> str:
    """Return the developer's request, and the place it was given on."""
    brief = body_of(message)
    where = f"{brief['symbol']} in {brief['path']}" if brief["symbol"] else brief["path"]
    return f"{brief['text'].strip()}\n{f'It was given on {where}.' if where else ''}".strip()


def settled_by(messages: Iterable[MessageRow]) -> str:
    """Return what *messages* settle of what the brief leaves open, as roles are told; empty where that is nothing."""
    return "\n\n".join(body_of(message)["told"] for message in messages if message.kind == "doubt").strip()


def render_content(document: Document) -> str:
    """Return a document as Markdown, without its provenance, as numbers and dates would only tell a model of
    earlier runs, and without the fields that wait for the developer.
    """
    # The provenance stands at the top, between two lines of dashes.
    return _TO_FILL.sub("", render(document).split("---\n", 2)[-1]).strip()


def _numbered(before: list[str], after: list[str], hidden: Collection[int]) -> Iterator[str]:
    """Yield the changed lines and those around them: ``12 + new``, `` - old``, ``13 kept``; of a run of *hidden* ones
    only how many they are.
    """
    # Else, in a file of 200 lines or more, lines that stand there often are not matched with each other.
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    for number, group in enumerate(matcher.get_grouped_opcodes(_CONTEXT_LINES)):
        if number:
            yield "…"
        for tag, old_start, old_end, new_start, new_end in group:
            if tag != "equal":
                yield from (f"      - {line.rstrip()}" for line in before[old_start:old_end])
            sign = " " if tag == "equal" else "+"
            for is_hidden, run in groupby(range(new_start, new_end), hidden.__contains__):
                numbers = [*run]
                if is_hidden:
                    yield f"      … {len(numbers)} lines of tests that pass"
                else:
                    yield from (f"{at + 1:5} {sign} {after[at].rstrip()}" for at in numbers)
