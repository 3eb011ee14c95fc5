"""Roles as they are declared: one TOML file for the profile and the duties, one Markdown file for the prompt.

A repository may add roles and tune ours in `.rolecall/roles/`. What stands there is told to a model, so it is used only
once the developer has confirmed exactly those files; that they did is kept in their store, not in the repository.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from rolecall_server.craft.lookups import TOOL_NAMES
from rolecall_server.errors import FileRefused
from rolecall_server.store import Store
from rolecall_server.store.messages import is_trusted, trust
from rolecall_server.team.documents import Kind
from rolecall_server.workspace import Workspace, read_beginning

OUR_ROLES = Path(__file__).parent
THEIR_ROLES = ".rolecall/roles"
_LEAN = ("engineer",)
_MIDDLE = ("product_manager", "engineer", "qa_engineer", "reviewer")
MAX_ROLE_BYTES = 64_000


class Scope(StrEnum):
    """The number of documents of a kind that a run has: one for the run, or one for each sprint, task or role."""

    RUN = "run"
    SPRINT = "sprint"
    TASK = "task"
    ROLE = "role"
    """One of each role that publishes it, in each sprint."""


SCOPES: Mapping[str, Scope] = {
    "brief": Scope.RUN,
    "doubt": Scope.RUN,
    Kind.UNDERSTANDING: Scope.RUN,
    Kind.REQUIREMENTS: Scope.RUN,
    "answers": Scope.RUN,
    "correction": Scope.RUN,
    Kind.DESIGN: Scope.RUN,
    Kind.TASK_LIST: Scope.RUN,
    Kind.CHANGE_PLAN: Scope.SPRINT,
    "edits": Scope.TASK,
    "tests": Scope.SPRINT,
    Kind.TEST_PLAN: Scope.SPRINT,
    "change": Scope.SPRINT,
    Kind.EXECUTION_REPORT: Scope.SPRINT,
    Kind.REVIEW: Scope.ROLE,
    "answered": Scope.SPRINT,
    "proposal": Scope.SPRINT,
    "verdicts": Scope.RUN,
    Kind.SPRINT_REVIEW: Scope.SPRINT,
}
"""The kinds of documents that the team passes on, and how many of each there are."""


class Verb(StrEnum):
    """The way in which a duty is done; each is a function of ours, which a role's files cannot change."""

    WRITE = "write"
    """A model fills the document that the role publishes."""
    DOUBT = "doubt"
    """Solutions of the brief are run, and the developer is asked where they differ; see `doubting`."""
    ASK = "ask"
    """The developer is asked what the requirements leave open."""
    ALLOT = "allot"
    """Without a project manager: all of the work is one task."""
    SHOW = "show"
    """The developer sees which files each task will touch, and may drop tasks."""
    IMPLEMENT = "implement"
    TEST = "test"
    INTEGRATE = "integrate"
    """The edits of a sprint become one change, which is run with its tests and repaired."""
    ANSWER = "answer"
    """Findings are answered: fixed, or why not."""
    PROPOSE = "propose"
    ALONE = "alone"
    """One role does all that a run is for, from the brief to the proposal; no role declares it."""
    REVISE = "revise"
    """The same, for one hunk that is made anew."""
    JUDGE = "judge"
    """The candidates of a code review are judged; all of a run, as the two before it."""


class RunWay(StrEnum):
    """The way in which a run goes about its brief: who works on it, with which documents between them."""

    ENGINEER = "engineer"
    """The Engineer alone, straight from the brief."""
    MIDDLE = "middle"
    """Requirements, one Engineer, tests by somebody who does not see the code, a review."""
    TEAM = "team"
    """All roles, with a design and a task list."""


class Duty(BaseModel):
    """A piece of work that a role does once everything it watches is there."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    does: Verb
    watches: tuple[str, ...] = ()
    """The kinds it waits for and reads; one that nobody publishes in this run is not waited for."""
    heeds: tuple[str, ...] = ()
    """The kinds it reads where they are there, and does not wait for."""
    awaits: tuple[str, ...] = ()
    """The kinds it waits for and does not read."""
    asks: tuple[str, ...] = ()
    """The kinds of which it may ask the publisher, once a step, where they leave something out that it needs."""
    publishes: Annotated[tuple[str, ...], Field(min_length=1)]
    way: RunWay | None = None
    """The way in which it takes the place of the role's duty of the same verb; ``None`` for that duty itself."""
    outlines: tuple[str, ...] = ()
    """The kinds of changes, among those it watches, of which it sees names, signatures and docstrings alone."""
    share: Annotated[float, Field(gt=0, le=1)] = 1.0
    """The share of ``rolecall.model.contextTokens`` that it may be shown of the repository."""

    @property
    def scope(self) -> Scope:
        """Return the scope, which says how often it is done."""
        return Scope.RUN if self.is_whole_run else SCOPES[self.publishes[0]]

    @property
    def is_whole_run(self) -> bool:
        """Return whether a run has no other duty."""
        return self.does in (Verb.ALONE, Verb.REVISE, Verb.JUDGE)

    @property
    def reads(self) -> tuple[str, ...]:
        """The kinds it reads."""
        return (*self.watches, *self.heeds)


RoleId = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,40}$")]


class Role(BaseModel):
    """One role of the team."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: RoleId
    title: Annotated[str, StringConstraints(min_length=1, max_length=60)]
    goal: str
    constraints: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    """What its model may look up while it works, by name (`craft.lookups`)."""
    model: str = ""
    """Another model of the same endpoint; empty for the one of the settings."""
    temperature: float | None = None
    duty: Annotated[tuple[Duty, ...], Field(min_length=1)]
    prompt: str = ""
    """What its prompt file says."""

    def publishes(self, kind: str) -> bool:
        """Return whether one of the role's duties is to publish *kind*."""
        return any(kind in duty.publishes for duty in self.duty)

    def on(self, way: RunWay) -> Role:
        """Return the role with the duties that it has where a run goes that way."""
        special = {duty.does for duty in self.duty if duty.way is way}
        duties = tuple(one for one in self.duty if one.way is way or (one.way is None and one.does not in special))
        return self.model_copy(update={"duty": duties})

    def system_prompt(self) -> str:
        """Return the description of who it is, for a model."""
        rules = "".join(f"- {rule}\n" for rule in self.constraints)
        return f"{self.prompt.strip()}\n\n{rules}".strip() + "\n"


@dataclass(frozen=True)
class FoundRoles:
    """Roles of a repository's own, not confirmed yet."""

    roles: Mapping[str, Role]
    fingerprint: str
    """Of all their files; what the developer confirms."""
    files: tuple[str, ...]


TEAM_ITSELF = Role(
    name="team",
    title="The team",
    goal="Does what needs no model.",
    duty=(
        Duty(does=Verb.ASK, watches=(Kind.REQUIREMENTS,), publishes=("answers", "correction")),
        Duty(
            does=Verb.ALLOT,
            watches=("brief", Kind.REQUIREMENTS, "answers", Kind.DESIGN),
            publishes=(Kind.TASK_LIST,),
        ),
        Duty(does=Verb.SHOW, watches=(Kind.TASK_LIST, Kind.DESIGN), publishes=(Kind.CHANGE_PLAN,)),
    ),
)


_DOUBT = Duty(does=Verb.DOUBT, watches=("brief",), publishes=("doubt",))
_CAUSES: Mapping[Verb, tuple[str, ...]] = {
    Verb.ASK: (Kind.REQUIREMENTS,),
    Verb.ALLOT: ("edits",),
    Verb.SHOW: (Kind.TASK_LIST, "edits"),
}
"""The messages that others of the team must publish for it to do each of its duties."""


def our_roles() -> dict[str, Role]:
    """Return the roles that come with Rolecall, by name, in the order of the work."""
    order = ("product_manager", "architect", "project_manager", "engineer", "qa_engineer", "reviewer")
    return {name: _read_role(name, *_texts_of(OUR_ROLES, name)) for name in order}


def role_alone(name: str, does: Verb) -> Role:
    """Return one of our roles with a single duty, all of a run, for which its model may look up whatever there is."""
    published = "verdicts" if does is Verb.JUDGE else "proposal"
    duty = Duty(does=does, watches=("brief", "doubt"), publishes=(published,))
    return our_roles()[name].model_copy(update={"tools": TOOL_NAMES, "duty": (duty,)})


def doubting(roster: Mapping[str, Role]) -> dict[str, Role]:
    """Return *roster* with an Engineer who first looks whether solutions of the brief disagree."""
    role = roster.get(_LEAN[0])
    return {**roster, role.name: role.model_copy(update={"duty": (_DOUBT, *role.duty)})} if role else {**roster}


def find_roles(workspace: Workspace) -> FoundRoles | None:
    """Return the roles that the repository brings along; ``None`` where it brings none.

    Raises:
        FileRefused: one of their files is no role; the sentence says why.
    """
    folder = workspace.root / THEIR_ROLES
    # The folder may be a link that leads out of the repository.
    if not folder.is_dir() or not folder.resolve().is_relative_to(workspace.root):
        return None
    ours, found, files, digest = our_roles(), dict[str, Role](), list[str](), hashlib.sha256()
    # Sorted, so that the fingerprint does not hang on the file system.
    for path in sorted(folder.glob("*.toml")):
        profile, prompt = _texts_of(folder, path.stem)
        found[path.stem] = _read_role(path.stem, profile, prompt, ours.get(path.stem))
        for suffix, text in ((".toml", profile), (".md", prompt)):
            if text:
                files.append(f"{THEIR_ROLES}/{path.stem}{suffix}")
                # The length goes before the text, so that no text can be taken for another file that follows.
                digest.update(f"{path.stem}{suffix}\0{len(text)}\0{text}".encode())
    return FoundRoles(found, digest.hexdigest(), tuple(files)) if found else None


def known_roles(workspace: Workspace, store: Store) -> dict[str, Role]:
    """Our roles, and those of the repository that the developer has confirmed.

    Raises:
        FileRefused: a file of the repository's is no role.
    """
    found = find_roles(workspace)
    if found is None or not is_trusted(store, str(workspace.root), found.fingerprint):
        return our_roles()
    return {**our_roles(), **found.roles}


def confirm_roles(workspace: Workspace, store: Store, found: FoundRoles) -> None:
    """Have the roles that were *found* used from now on, as long as their files stay as they are."""
    trust(store, str(workspace.root), found.fingerprint)


def roles_to_confirm(workspace: Workspace, store: Store) -> FoundRoles | None:
    """Return the repository's roles that the developer has not confirmed as they are now; ``None`` where there are
    none.

    Raises:
        FileRefused: a file of the repository's is no role.
    """
    found = find_roles(workspace)
    return None if found is None or is_trusted(store, str(workspace.root), found.fingerprint) else found


def roles_on(way: RunWay, roles: Mapping[str, Role]) -> tuple[str, ...]:
    """Return the names of those of *roles* that work on a brief that way; one of a repository's own joins by a duty."""
    ours = {RunWay.ENGINEER: _LEAN, RunWay.MIDDLE: _MIDDLE, RunWay.TEAM: tuple(roles)}[way]
    joining = (name for name, role in roles.items() if any(duty.way is way for duty in role.duty))
    wanted = {*ours, *joining}
    return tuple(name for name in roles if name in wanted)


def roster_of(roles: Mapping[str, Role], wanted: Iterable[str], way: RunWay = RunWay.TEAM) -> dict[str, Role]:
    """Return the *wanted* roles and the team itself, as a run goes through them that *way*.

    Raises:
        FileRefused: one is not known, or two publish the same document.
    """
    names = list(dict.fromkeys(wanted))
    if unknown := [name for name in names if name not in roles]:
        raise FileRefused(f"There is no role {unknown[0]}.", f"There are {', '.join(roles)}.")
    roster = {name: roles[name].on(way) for name in roles if name in names}
    for kind, scope in SCOPES.items():
        publishers = [name for name, role in roster.items() if role.publishes(kind)]
        if len(publishers) > 1 and scope is not Scope.ROLE:
            raise FileRefused(f"{' and '.join(publishers)} both publish the {kind}.", "Leave one of them out.")
    duties = tuple(duty for duty in TEAM_ITSELF.duty if not _is_done_by(roster, duty))
    return {TEAM_ITSELF.name: TEAM_ITSELF.model_copy(update={"duty": duties}), **roster}


def _is_done_by(roster: Mapping[str, Role], duty: Duty) -> bool:
    """Return whether nobody else has to do *duty*: a role of the roster does it, or no role publishes what gives rise
    to it.
    """
    published = {kind for role in roster.values() for one in role.duty for kind in one.publishes}
    return not published.issuperset(_CAUSES[duty.does]) or duty.publishes[0] in published


def _read_role(name: str, profile: str, prompt: str, base: Role | None = None) -> Role:
    """Return the role that two files declare; what *profile* leaves out is as in *base*, which it tunes.

    Raises:
        FileRefused: they declare none.
    """
    where = f"The role {name} cannot be used"
    try:
        given: dict[str, Any] = tomllib.loads(profile)
    except (ValueError, RecursionError) as error:
        why = "it is nested too deeply" if isinstance(error, RecursionError) else error
        raise FileRefused(f"{where}: {name}.toml is no TOML ({why}).", "Correct that file.") from None
    before: dict[str, Any] = base.model_dump() if base is not None else {}
    after = {**before, **given, "name": name, "prompt": prompt or before.get("prompt", "")}
    try:
        role = Role.model_validate(after)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise FileRefused(f"{where}: {place}: {first['msg']}.", f"Correct {name}.toml.") from None
    _check_duties(role, where)
    return role


def _check_duties(role: Role, where: str) -> None:
    known = ", ".join(SCOPES)
    for duty in role.duty:
        if unwatched := [kind for kind in duty.outlines if kind not in duty.watches]:
            raise FileRefused(f"{where}: it outlines {unwatched[0]}, which it does not watch.", "Watch that too.")
        if duty.is_whole_run:
            raise FileRefused(f"{where}: {duty.does} is no duty within a team.", "Name another verb.")
        for kind in (*duty.reads, *duty.awaits, *duty.asks, *duty.publishes):
            if kind not in SCOPES:
                raise FileRefused(f"{where}: nobody knows a document {kind!r}.", f"There are: {known}.")
        if duty.does is Verb.WRITE and (len(duty.publishes) != 1 or duty.publishes[0] not in set(Kind)):
            raise FileRefused(
                f"{where}: it cannot write {', '.join(duty.publishes)}.", f"Name one of {', '.join(Kind)}."
            )
    if unknown := [name for name in role.tools if name not in TOOL_NAMES]:
        raise FileRefused(f"{where}: there is no tool {unknown[0]}.", f"There are: {', '.join(TOOL_NAMES)}.")
    if any(duty.does is Verb.WRITE for duty in role.duty) and not role.prompt.strip():
        raise FileRefused(f"{where}: it has no prompt.", f"Write {role.name}.md beside {role.name}.toml.")


def _texts_of(folder: Path, name: str) -> tuple[str, str]:
    """Return the profile and the prompt of a role; an empty text where there is no such file.

    Raises:
        FileRefused: a file is too large, or no text.
    """
    texts: list[str] = []
    for path in (folder / f"{name}.toml", folder / f"{name}.md"):
        if not path.is_file():
            texts.append("")
            continue
        # The one byte more shows that a file is too large, without reading all of it.
        content = read_beginning(path, MAX_ROLE_BYTES + 1)
        if len(content) > MAX_ROLE_BYTES:
            raise FileRefused(f"{path.name} is larger than {MAX_ROLE_BYTES:,} bytes.", "Shorten it.")
        try:
            texts.append(content.decode("utf-8"))
        except UnicodeDecodeError:
            raise FileRefused(f"{path.name} is not UTF-8.", "Convert it.") from None
    return texts[0], texts[1]
