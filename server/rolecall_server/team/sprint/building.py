"""The Engineer's and the QA Engineer's part of a sprint: edits for each task, tests for the requirements."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import replace
from difflib import unified_diff
from functools import partial
from pathlib import Path

from rolecall_analysis import Snapshot, facts_of
from rolecall_server.context import Focus
from rolecall_server.craft.attempt import AttemptWork
from rolecall_server.craft.attempts import EDIT_FORMAT, FILE_OPERATIONS, work_out
from rolecall_server.craft.installed import checking
from rolecall_server.craft.verdicts import to_mend
from rolecall_server.errors import NothingToChange
from rolecall_server.model.prompts import prompts_beside
from rolecall_server.sandbox import NotRun
from rolecall_server.store.messages import NewMessage
from rolecall_server.team.documents import CaseKind, Design, Kind, SprintReview, Task, TestCase, TestPlan
from rolecall_server.team.experience.replaying import recall_at
from rolecall_server.team.messages.board import Pool, as_draft, content_of
from rolecall_server.team.messages.edits import Edits, desk_with, fingerprints, joined
from rolecall_server.team.messages.rendering import tell
from rolecall_server.team.messages.settled import with_settled
from rolecall_server.team.model_stack import RememberingClient, conversation
from rolecall_server.team.opening import open_conversation, tell_how_to_begin
from rolecall_server.team.plan.agenda import Agenda, agenda_of
from rolecall_server.team.plan.planning import request_in
from rolecall_server.team.plan.steps import Step
from rolecall_server.team.request import Desk
from rolecall_server.team.roles import implement
from rolecall_server.team.roles.declarations import RunWay
from rolecall_server.team.room import Room
from rolecall_server.team.sprint.edit_scope import EditScope, answer_wishes
from rolecall_server.team.test_quality.test_placement import Whose, choose_style_example, choose_test_path, is_for_tests
from rolecall_server.team.test_quality.trials import Trials
from rolecall_server.workspace import Workspace, file_exists, read_for_model, read_text_or_none, split_lines

_ROLES = Path(__file__).parents[1] / "roles"
_ENGINEER = _ROLES / "engineer.md"
_TESTER = _ROLES / "requirement_tests.md"
_TESTER_OF_SIGNATURES = _ROLES / "signature_tests.md"
_PROMPTS = prompts_beside(__file__)
_COVERS = re.compile(
    r"^[ \t>*_`-]*+COVERS[\s*_`]*+:[\s*_`]*+([^\s`:]++::[\w:.]++)`?\s++((?:R\d++[,\s]*+)++)"
    r"(?:\((basic|edge|large|failure)\))?\s*+[:-]?\s*+(.*)$",
    re.MULTILINE,
)
_FOR_US = re.compile(r"[\s>*_`-]*+(?:WIDEN|COVERS|ANSWER\s++F\d++)[\s*_`]*+:")


async def implement_task(step: Step, room: Room, pool: Pool) -> tuple[NewMessage, ...]:
    """Write the edits for one task on top of those for the tasks it builds on, try them with the tests that reach them,
    and return them.

    Raises:
        RolecallError: nothing came of it.
    """
    agenda = agenda_of(pool)
    task = agenda.task(step.task_id)
    below = joined(content_of(message, Edits) for message in step.messages("edits"))
    desk = desk_with(room.desk(step, pool), below)
    about = " ".join((task.title, task.text, *task.files, *task.symbols))
    desk = replace(desk, experience=await recall_at(desk, room.repository.store, room.run_id, about))
    overheard = conversation(desk)
    if step.message(Kind.DESIGN) is None and step.message(Kind.REQUIREMENTS) is None and len(agenda.tasks) == 1:
        brief = step.message("brief")
        assert brief is not None
        # exactly as where a command asks the Engineer alone
        desk = with_settled(replace(desk, rejections=_turned_down(step)), step.read)
        work, _ = await implement(request_in(brief), desk)
        widened: dict[str, str] = {}
    elif step.duty.way is RunWay.MIDDLE:
        work, widened = await _whole_work(step, with_settled(desk, step.read)), {}
    else:
        fence = EditScope(room, pool, agenda, step, overheard)
        overheard.answer = partial(answer_wishes, desk.workspace, partial(fence.refusal, desk))
        work, widened = await _task_work(step, desk, task, fence), fence.widened
    check = await checking(desk.bench, desk.snapshot, desk.workspace.root)
    checked = replace(work, check=check, draft=desk.draft, unfound=desk.unfound, keep=desk.keep)
    edits = await _edits_of(checked, overheard, desk, room, step)
    # A file may be asked for, allowed, and then not changed.
    edits = edits.model_copy(update={"widened": {path: why for path, why in widened.items() if path in edits.files}})
    return (as_draft("edits", edits.model_dump(mode="json"), step.subject),)


async def write_requirement_tests(step: Step, room: Room, pool: Pool) -> tuple[NewMessage, ...]:
    """Tests for what the sprint shall bring, made from the requirements while the code is being written elsewhere.

    Raises:
        RolecallError: nothing came of it.
    """
    agenda = agenda_of(pool)
    code = joined(content_of(message, Edits) for message in step.messages("edits"))
    desk = _desk_without_code(room.desk(step, pool), code)
    path = await asyncio.to_thread(_to_be_tested, desk, agenda, code)
    documents = await asyncio.to_thread(tell, step.read, desk.workspace, step.duty.outlines)
    overheard = conversation(desk)
    fence = EditScope(room, pool, agenda, step, overheard)
    test_path, style_path = await asyncio.to_thread(_tests_to_show, desk, path, fence)
    focus = Focus(path, test_path=test_path, style_path=style_path, brief=documents, label="what is to be tested")
    task = f"{documents}\n# What to do now\n\n{_tests_wanted(step, agenda)}"
    profile = _TESTER_OF_SIGNATURES if step.duty.outlines else _TESTER
    work = AttemptWork(
        opening=await open_conversation(profile, desk, focus, task, share=step.duty.share),
        read_text=lambda path: read_for_model(desk.workspace, path),
        refusal=partial(fence.refusal_of_tests, desk),
        try_out=_not_yet,
        draft=desk.draft,
        unfound=desk.unfound,
        before=lambda: None,
        on_failure="",
    )
    tests = await _edits_of(work, overheard, desk, room, step)
    before = {path: read_text_or_none(desk.workspace, path) for path in tests.files}
    plan = read_test_plan(overheard.said, tests.files, before, f"Tests of {step.sprint}")
    return (
        as_draft("tests", tests.model_dump(mode="json"), step.subject),
        as_draft(Kind.TEST_PLAN, plan, step.subject),
    )


def _to_be_tested(desk: Desk, agenda: Agenda, code: Edits) -> str:
    """Return the existing file that the tests are most about: tests to be made anew, else code before documents, and of
    code what changes most; empty where there is none.
    """
    named = [one for task in agenda.tasks for one in task.files]
    changed = [one for one in code.files if not is_for_tests(desk.snapshot, one)]
    changed.sort(key=lambda path: -_n_changed_lines(desk.workspace, path, code.files[path]))
    files = sorted((*named, *changed), key=lambda path: not _is_product(desk.snapshot, path))
    return next((one for one in (*agenda.undone_tests, *files) if file_exists(desk.workspace, one)), "")


def _is_product(snapshot: Snapshot, path: str) -> bool:
    """Return whether *path* is code, and none that only says how the rest is packed."""
    return path in snapshot.files and path.rpartition("/")[2] != "setup.py"


def _n_changed_lines(workspace: Workspace, path: str, text: str | None) -> int:
    before = split_lines(read_text_or_none(workspace, path) or "")
    return sum(line[:1] in ("+", "-") for line in unified_diff(before, split_lines(text or ""), n=0))


def _desk_without_code(desk: Desk, edits: Edits) -> Desk:
    """Return *desk* with the files of *edits* that are for tests, on which other tests build; code stays unseen."""
    tests = {path: text for path, text in edits.files.items() if is_for_tests(desk.snapshot, path)}
    return desk_with(desk, Edits(files=tests))


def _tests_wanted(step: Step, agenda: Agenda) -> str:
    """Return the request to the QA Engineer: tests of the tasks, and those again that the developer rejected."""
    wanted: list[str] = []
    if agenda.tasks and step.duty.outlines:
        wanted.append(_PROMPTS["tests of the requirements"])
    elif agenda.tasks:
        tasks = ", ".join(task.id for task in agenda.tasks)
        wanted.append(_PROMPTS["tests of the sprint"].format(sprint=agenda.sprint, tasks=tasks))
    if agenda.undone_tests:
        no_others = "" if agenda.tasks else ", and no others"
        files = ", ".join(agenda.undone_tests)
        wanted.append(_PROMPTS["rejected tests"].format(files=files, no_others=no_others))
    return " ".join(wanted)


def read_test_plan(
    said: str, files: Mapping[str, str | None], before: Mapping[str, str | None], title: str
) -> TestPlan:
    """Return the test plan in the ``COVERS:`` lines of a reply; a line that names a test which is not there is left
    out.

    A test that *files* have and the texts *before* had not, and that no line names, verifies nothing: the plan says so.
    """
    there, known = _names_in(files), _names_in(before)
    found: dict[str, tuple[str, str, str]] = {
        test: (served, kind, expects) for test, served, kind, expects in _COVERS.findall(said) if test in there
    }
    new = (name for name in there if name not in known and name.rpartition("::")[2].startswith("test"))
    found |= {test: ("", "", "") for test in new if test not in found}
    cases = [
        TestCase(
            id=f"C{number}",
            title=test.rpartition("::")[2].replace("_", " ").removeprefix("test ") or test,
            kind=CaseKind(kind or "basic"),
            verifies=tuple(re.findall(r"R\d+", served)),
            expects=expects.strip(" *_`") or "that it passes",
            test=test,
        )
        for number, (test, (served, kind, expects)) in enumerate(found.items(), start=1)
    ]
    return TestPlan(title=title, cases=tuple(cases))


def _names_in(files: Mapping[str, str | None]) -> dict[str, None]:
    """Return the classes and functions of *files*, as tests are named: ``path::Class::test_name``; in order."""
    return {
        f"{path}::{one.qualified_name.replace('.', '::')}": None
        for path, text in files.items()
        for one in facts_of(path, text or "").definitions
        if one.kind != "variable"
    }


async def _whole_work(step: Step, desk: Desk) -> AttemptWork:
    """Return the work on the whole brief, by the documents that *step* reads."""
    brief = step.message("brief")
    assert brief is not None
    told = await asyncio.to_thread(tell, step.read, desk.workspace)
    work, _ = await implement(request_in(brief), desk, f"{told}\n# What to do now\n\n{_PROMPTS['whole brief']}")
    return work


async def _task_work(step: Step, desk: Desk, task: Task, fence: EditScope) -> AttemptWork:
    there = (path for path in task.files if file_exists(desk.workspace, path))
    # Code first, as the first file is the one in focus.
    existing = sorted(there, key=lambda path: not path.endswith(".py"))
    design = step.message(Kind.DESIGN)
    risks = content_of(design, Design).risks if design else ()
    brief = "\n".join((task.title, task.text, " ".join(task.symbols), *task.acceptance, *risks))
    focus = Focus(existing[0] if existing else "", brief=brief, writes_code=True, named=tuple(existing[1:]))
    trials = Trials(desk, [path for path in existing if path.endswith(".py")])
    told = await asyncio.to_thread(_task_text, step, desk, task, has_tester=fence.room.has_tester)
    if begin := tell_how_to_begin(desk):
        told = f"{told}\n\n{begin}"
    opening = await open_conversation(_ENGINEER, desk, focus, told, EDIT_FORMAT + FILE_OPERATIONS)
    return AttemptWork(
        opening=opening,
        read_text=lambda path: read_for_model(desk.workspace, path),
        refusal=partial(fence.refusal, desk),
        try_out=trials.of_change,
        before=lambda: trials.before,
        on_failure=_PROMPTS["on failure"],
        moves_files=True,
        to_mend=to_mend,
    )


def _task_text(step: Step, desk: Desk, task: Task, *, has_tester: bool) -> str:
    """Return a text with the documents, and last the task itself."""
    documents = [message for message in step.read if message.kind != "edits"]
    files = ", ".join(task.files)
    own_tests = "" if has_tester else " and the tests of what you do"
    parts = [
        tell(documents, desk.workspace),
        f"# What to do now\n\n{_PROMPTS['task'].format(task=task.id, title=task.title)}",
        _PROMPTS["files"].format(files=files, own_tests=own_tests) if files else "",
        _PROMPTS["tester"].format(where="in other files " if files else "") if has_tester else "",
    ]
    return "\n".join(part for part in parts if part)


def _turned_down(step: Step) -> tuple[str, ...]:
    """Return the hunks that the developer rejected with a reason in the sprints before, a line each."""
    reviews = [content_of(message, SprintReview) for message in step.messages(Kind.SPRINT_REVIEW)]
    return tuple(f"- {one.hunk}: {one.reason}" for review in reviews for one in review.rejected if one.reason)


async def _edits_of(work: AttemptWork, overheard: RememberingClient, desk: Desk, room: Room, step: Step) -> Edits:
    """Return the edits that *work* leads to; none, with the reason, where the role says that nothing has to change.

    Raises:
        RolecallError: nothing came of it.
    """
    try:
        bounded = replace(work, most_repairs=desk.settings.team.repairs)
        outcome = await work_out(bounded, overheard, desk.report)
    except NothingToChange as answer:
        return Edits(rationale=prose_alone(answer.said))
    if outcome.interrupted is not None:
        # Nobody is to build on half of the work. A resumed run is given the stored replies, and pays for none again.
        raise outcome.interrupted
    attempt = outcome.attempt
    paths = {*attempt.files, *attempt.renames}
    return Edits(
        files=dict(attempt.files),
        renames=dict(attempt.renames),
        # Of the developer's files: those of the desk hold the edits of the tasks that this one builds on.
        bases=fingerprints(room.repository.workspace, sorted(paths)),
        rationale="\n\n".join(part for part in (prose_alone(outcome.rationale), *outcome.problems) if part),
        tasks=dict.fromkeys(attempt.files, (step.task_id,)) if step.task_id else {},
        notes=attempt.notes,
    )


def prose_alone(rationale: str) -> str:
    """Return the part of *rationale* that was said to the developer, without the lines that were for us."""
    return "\n".join(line for line in rationale.splitlines() if not _FOR_US.match(line)).strip()


def _tests_to_show(desk: Desk, path: str, fence: EditScope) -> tuple[str, str]:
    """Return the test file to rewrite or extend, named by the design or belonging to *path*; if there is none, one to
    imitate.
    """
    named = [*fence.agenda.undone_tests, *(one for one in fence.design_files if fence.whose(one) is Whose.TESTER)]
    chosen = named[0] if named else choose_test_path(desk.workspace, desk.snapshot, path) if path else ""
    if file_exists(desk.workspace, chosen):
        return chosen, ""
    return "", choose_style_example(desk.snapshot, path, chosen) or ""


async def _not_yet(files: Mapping[str, str | None]) -> NotRun:
    return NotRun("What they test is being written.")
