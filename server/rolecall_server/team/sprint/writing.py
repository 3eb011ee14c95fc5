"""Documents that roles write: a model thinks in prose, then fills the schema; what does not hold is asked for again."""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import Sequence
from functools import partial

from rolecall_analysis import Snapshot, is_test
from rolecall_server.context import ContextPack, Focus, named_files, names_one_thing, pack, pack_rules, render
from rolecall_server.errors import DocumentUnusable
from rolecall_server.model import ChatMessage, estimate_tokens
from rolecall_server.model.replies.structured import Answer, ask_for
from rolecall_server.review.checks.touched import Touched, touched_by
from rolecall_server.review.proposals.changes import changes_of
from rolecall_server.review.proposals.evidence import SourceLine
from rolecall_server.store.messages import MessageRow, NewMessage
from rolecall_server.team.documents import (
    CONTENTS,
    Content,
    Design,
    Document,
    Kind,
    Question,
    Requirements,
    Sprint,
    Task,
    TaskList,
)
from rolecall_server.team.documents.design import DesignPart
from rolecall_server.team.documents.links.code_links import unresolved
from rolecall_server.team.documents.links.linking import check_links
from rolecall_server.team.documents.understanding import front_pages
from rolecall_server.team.messages.board import Pool, as_draft, body_of, content_of
from rolecall_server.team.messages.edits import Edits, desk_with
from rolecall_server.team.messages.rendering import brief_text, document_in, render_content, tell
from rolecall_server.team.model_stack import conversation, with_limits
from rolecall_server.team.opening import with_rules
from rolecall_server.team.plan.agenda import circle_of
from rolecall_server.team.plan.briefs import is_short, title_of_brief
from rolecall_server.team.plan.steps import Step
from rolecall_server.team.request import Desk
from rolecall_server.team.room import Room
from rolecall_server.team.sprint.redesign import Redesign, find_redesign, merged, told_of
from rolecall_server.team.test_quality.test_placement import choose_test_path, is_for_tests
from rolecall_server.workspace import file_exists, split_lines, why_private

SEES_REPOSITORY = frozenset((Kind.REQUIREMENTS, Kind.DESIGN))
"""The documents whose authors are shown files of the repository; the others work from documents alone."""
MOST_CHARACTERS, MOST_TASKS = 200_000, 200
"""Of a document that others build on."""
_MOST_TOLD = 50
_FOR_RULES = 500
"""Tokens of the house rules that every role is shown."""
MAX_USERS = 30
"""So many places that use what a change touches are told to who reviews it."""
NOBODY = "nobody"
"""Who chose an answer where the recommendation holds because the developer said nothing."""


async def write_document(step: Step, room: Room, pool: Pool) -> tuple[NewMessage, ...]:
    """Have a model fill the document that a role publishes, and return it.

    Where it names what does not exist the model is told once; what is left of that is marked in the document's
    diagnostics. A task list that goes in a circle is no document to build on.

    Raises:
        DocumentUnusable: nobody could build on it.
        RolecallError: the model failed.
    """
    kind, subject = step.writes[0]
    desk = room.desk(step, pool)
    if (redesign := find_redesign(step, pool)) is not None and (
        design := await _redesigned(redesign, step, desk, pool)
    ):
        return (as_draft(kind, design, subject),)
    messages = await asyncio.to_thread(_opening, step, desk, pool)
    desk.report("thinking", None)
    content_type: type[Content] = CONTENTS[Kind(kind)]
    without = _not_asked_for(step)
    client = conversation(_with_the_change(step, desk))
    answer = await ask_for(client, messages, content_type, without=without)
    content = answer.value
    document = Document(id="new", author=step.role.title, content=content)
    if problems := await asyncio.to_thread(problems_of, document, pool, _with_the_change(step, desk)):
        desk.report("correcting what does not hold", None)
        content = (await _again(desk, answer, content_type, problems, step)).value
    if unusable := why_unusable(content):
        raise DocumentUnusable(f"The {kind} cannot be built on: {unusable}", "Edit it, or have it written again.")
    return (as_draft(kind, content, subject),)


async def _redesigned(redesign: Redesign, step: Step, desk: Desk, pool: Pool) -> Design | None:
    """Return the design with what traces to changed requirements written anew; ``None`` where that does not hold, and
    all of it has to be written.
    """
    desk.report("designing anew what changed", None)
    packed = pack_rules(desk.view, with_rules(Focus(""), desk), _FOR_RULES)
    system = with_limits(step.role.system_prompt(), desk)
    opening = told_of(redesign, system, render(packed).strip(), desk.how_to_ask)
    desk.record(packed, opening)
    part = (await ask_for(conversation(desk), opening, DesignPart)).value
    design = merged(redesign.design, part)
    document = Document(id="new", author=step.role.title, content=design)
    return None if await asyncio.to_thread(problems_of, document, pool, desk) else design


async def _again(
    desk: Desk, answer: Answer[Content], content_type: type[Content], problems: Sequence[str], step: Step
) -> Answer[Content]:
    assert desk.client is not None
    told = "\n".join(
        [
            "Some of that does not hold:\n",
            *(f"- {problem}" for problem in problems[:_MOST_TOLD]),
            "\nGive the whole document again, corrected; leave what is right as it is.",
        ]
    )
    messages = [*answer.messages, ChatMessage("user", told)]
    return await ask_for(desk.client, messages, content_type, without=_not_asked_for(step))


def _not_asked_for(step: Step) -> tuple[str, ...]:
    """Return the fields that nobody wants of a document: a chart that compares products, where the brief is a short
    one.
    """
    brief = step.message("brief")
    short = brief is not None and (body_of(brief)["symbol"] or is_short(body_of(brief)["text"]))
    return ("comparison",) if short and step.writes[0][0] == Kind.REQUIREMENTS else ()


def problems_of(document: Document, pool: Pool, desk: Desk) -> tuple[str, ...]:
    """Return the problems of a document: links to what is not there, names that nothing in the repository has."""
    if too_much := _why_too_much(document.content):
        return (too_much,)
    others = tuple(
        document_in(message)
        for message in pool.messages
        if message.kind in set(Kind) and message is pool.latest(message.kind, message.subject)
    )
    there = partial(file_exists, desk.workspace)
    dangling = unresolved(document, desk.snapshot, others, there)
    unusable = why_unusable(document.content)
    found = [unusable] if unusable else []
    return (*found, *map(str, check_links(document, others)), *map(str, dangling))


def why_unusable(content: Content) -> str:
    """Return the reason why nobody can build on a document; empty if somebody can."""
    if too_much := _why_too_much(content):
        return too_much
    match content:
        case Requirements(requirements=()):
            return "it holds no requirement."
        case TaskList(tasks=()):
            return "it holds no task."
        case TaskList(tasks=tasks) if circle := circle_of(tasks):
            return f"the tasks {' → '.join(circle)} need each other in a circle."
        case _:
            return ""


def _why_too_much(content: Content) -> str:
    """Return the reason why a document takes too long to look through; empty if it does not."""
    if isinstance(content, TaskList) and (n_tasks := len(content.tasks)) > MOST_TASKS:
        return f"it holds {n_tasks:,} tasks; {MOST_TASKS} are the most."
    n_characters = len(content.model_dump_json())
    if n_characters <= MOST_CHARACTERS:
        return ""
    return f"it has {n_characters:,} characters; {MOST_CHARACTERS:,} are the most."


def _with_the_change(step: Step, desk: Desk) -> Desk:
    """Return *desk* with the change that the role reads already made, so that what it looks up agrees with what it was
    told.
    """
    change = step.message("change")
    return desk_with(desk, content_of(change, Edits)) if change is not None else desk


def _opening(step: Step, desk: Desk, pool: Pool) -> tuple[ChatMessage, ...]:
    kind, subject = step.writes[0]
    documents = tell(step.read, desk.workspace)
    parts = [documents]
    change = step.message("change")
    sees_files = kind in SEES_REPOSITORY or (kind == Kind.REVIEW and change is None)
    room_left = desk.settings.model.context_tokens - estimate_tokens(documents)
    packed = _packed(step, desk, int(room_left * step.duty.share), sees_files=sees_files)
    if shown := render(packed):
        parts.insert(0, f"# The repository, as far as it seems to be concerned\n\n{shown}")
    if change is not None and (users := _users_of(change, desk)):
        parts.append(f"# Who uses what the change touches, outside of its diff and of tests\n\n{users}\n")
    if earlier := pool.latest(kind, subject):
        before = render_content(document_in(earlier))
        parts.append(
            f"# Your earlier version\n\n{before}\n\nWhat you read has changed since. Keep the ids and all that holds.\n"
        )
    parts.append("\n\n".join(part for part in (f"# Your task\n\nWrite the {kind}.", desk.how_to_ask) if part))
    opening = (
        ChatMessage("system", with_limits(step.role.system_prompt(), desk)),
        ChatMessage("user", "\n".join(part for part in parts if part)),
    )
    desk.record(packed, opening)
    return opening


def _packed(step: Step, desk: Desk, budget_tokens: int, *, sees_files: bool) -> ContextPack:
    """Return the rules for the role; with *sees_files* also the files that the brief, and what the team made of it, are
    about.

    What the team has written is read whole, however little that leaves for the repository: no run ends there.

    Who designs sees besides what the repository says of itself to others, which a design often changes.
    """
    brief = step.message("brief")
    path = body_of(brief)["path"] if brief else ""
    required = (render_content(document_in(message)) for message in step.messages(Kind.REQUIREMENTS))
    words = "\n".join([brief_text(brief) if brief else "", *required])
    designs = step.writes[0][0] == Kind.DESIGN
    also = front_pages(desk.snapshot, desk.workspace, path) if designs else {}
    named = named_files(desk.workspace, brief_text(brief)) if sees_files and brief else ()
    test_path = choose_test_path(desk.workspace, desk.snapshot, path) if designs and path.endswith(".py") else ""
    shown = test_path if file_exists(desk.workspace, test_path) else ""
    focus = with_rules(Focus(path, brief=words, also=also, named=named, test_path=shown, writes_code=designs), desk)
    # The documents may have used up all the room; what the house rules say is shown even then.
    return (pack if sees_files else pack_rules)(desk.view, focus, max(budget_tokens, 500))


def _users_of(change: MessageRow, desk: Desk) -> str:
    """Return the places outside tests that call or read what a change touches, a line each with its number after the
    change; empty where there are none.

    A place that the change itself replaces stands in its diff, and is left out. So is one that only has the name of a
    method that other classes, or types of Python's own, have too.
    """
    edits = content_of(change, Edits)
    places = (
        place
        for file in changes_of(desk.workspace, edits.files, edits.renames)
        for hunk in file.hunks
        for place in _users_touched(desk.snapshot, touched_by(desk.snapshot, file, hunk))
        if not is_test(desk.snapshot, place.path) and why_private(desk.workspace, place.path) is None
    )
    moved = {path: _moved_lines(desk.snapshot.text(path) or "", text or "") for path, text in edits.files.items()}
    users = (
        f"- {place.path}:{line + 1}: `{place.text}`"
        for place in dict.fromkeys(places)
        if (line := moved[place.path].get(place.line) if place.path in moved else place.line) is not None
    )
    return "\n".join([*users][:MAX_USERS])


def _users_touched(snapshot: Snapshot, touched: Touched) -> tuple[SourceLine, ...]:
    names = (name.rpartition(".")[2] for name in touched.symbols)
    if all(names_one_thing(snapshot, name) for name in names):
        return touched.callers
    # The certain ones come first in it: where the name means several things, the others are guesses.
    return touched.callers[: touched.n_callers]


def _moved_lines(before: str, after: str) -> dict[int, int]:
    """Return the number in *after* of each line of *before* that is kept, both from 0."""
    # Else, in a file of 200 lines or more, lines that stand there often are not matched with each other.
    matcher = difflib.SequenceMatcher(None, split_lines(before), split_lines(after), autojunk=False)
    return {old + n: new + n for old, new, size in matcher.get_matching_blocks() for n in range(size)}


async def ask_questions(step: Step, room: Room, pool: Pool) -> tuple[NewMessage, ...]:
    """Publish what the developer answers to the questions that the requirements leave open.

    Choosing what is recommended is an answer; silence keeps the recommendation, and says so. Where an answer is not
    the recommended one the requirements were written on another assumption: that is published as a correction, which
    their author heeds; so is an answer that takes an earlier correction back.
    """
    requirements = step.message(Kind.REQUIREMENTS)
    assert requirements is not None
    questions = content_of(requirements, Requirements).questions
    known = _answers_before(pool)
    unknown = [question for question in questions if question.title not in known and not question.answer]
    given = dict(await room.developer.ask(unknown)) if unknown else {}
    answers = dict(known)
    for question in questions:
        if question.answer or question.title not in answers:  # what is written into the document goes before all else
            answers[question.title] = _answer(question, question.answer or given.get(question.id, ""))
    drafts = [as_draft("answers", {"answers": list(answers.values())})]
    told = _answers_before(pool, "correction")
    if corrected := [one for one in answers.values() if one["answer"] != one["recommended"] or one["question"] in told]:
        drafts.append(as_draft("correction", {"answers": corrected}))
    return tuple(drafts)


def _answers_before(pool: Pool, kind: str = "answers") -> dict[str, dict[str, str]]:
    message = pool.latest(kind)
    return {one["question"]: one for one in body_of(message)["answers"]} if message else {}


def _answer(question: Question, said: str) -> dict[str, str]:
    by = "the developer" if said else f"{NOBODY} answered, so what was recommended holds"
    return {
        "id": question.id,
        "question": question.title,
        "answer": said or question.recommended,
        "recommended": question.recommended,
        "by": by,
    }


async def allot(step: Step, room: Room, pool: Pool) -> tuple[NewMessage, ...]:
    """Return a task list with all of the work as one task, for runs in which no project manager divides it."""
    brief = step.message("brief")
    requirements, design = step.message(Kind.REQUIREMENTS), step.message(Kind.DESIGN)
    wanted = content_of(requirements, Requirements).requirements if requirements else ()
    title = title_of_brief(body_of(brief)["text"]) if brief else "The brief"
    task = Task(
        id="T1",
        title=title,
        serves=tuple(one.id for one in wanted),
        files=_files_of(content_of(design, Design), room) if design else (),
        acceptance=tuple(one.consequence for one in wanted),
    )
    sprint = Sprint(id="S1", title=title, tasks=("T1",))
    return (as_draft(Kind.TASK_LIST, TaskList(title=title, tasks=(task,), sprints=(sprint,))),)


def _files_of(design: Design, room: Room) -> tuple[str, ...]:
    """Return the files of *design*, without those for tests where somebody else writes tests."""
    named = dict.fromkeys(work.path for work in (*design.files_to_change, *design.files_to_add))
    return tuple(path for path in named if not (room.has_tester and is_for_tests(room.repository.snapshot, path)))
