"""The means that the team has to work with: a model, a sandbox, an interpreter, git; and what somebody has to fix."""

from __future__ import annotations

import asyncio
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from pydantic.alias_generators import to_camel

from rolecall_analysis.programs import find_program, git_refusal
from rolecall_server import __version__
from rolecall_server.errors import NoModelConfigured, RolecallError, UnknownModel
from rolecall_server.model import Chosen, EditorOffer, find_model
from rolecall_server.model.selection.abilities import Abilities, recall_abilities, remember_abilities
from rolecall_server.model.selection.local_servers import FindLocal, describe_service, find_local_services
from rolecall_server.sandbox import (
    Capabilities,
    Interpreter,
    NotRun,
    choose_confinement,
    describe_confinement,
    find_interpreter,
    probe,
    shadow_workspace,
)
from rolecall_server.sandbox.python.trust import to_confirm
from rolecall_server.settings import ModelSettings, Settings
from rolecall_server.store import Store, cache_path
from rolecall_server.workspace import Workspace

_LIST_TIMEOUT_S = 10.0
_GIT_TIMEOUT_S = 10.0
_ROOM_FOR_A_REPLY = 2_000
"""So many tokens beside the repository's: less is no answer of any use."""
_OWN_PROJECTS = (
    "Where tests need such a folder, install it there as a project: `pip install -e FOLDER` writes down where it lies."
)


@dataclass(frozen=True)
class Checked:
    """One thing that was looked at."""

    name: str
    state: Literal["fine", "limited", "broken"]
    """``broken``: somebody must fix it before Rolecall can do what it is asked."""
    what: str
    next_step: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """For programs."""


@dataclass(frozen=True)
class CheckupSubject:
    """The subject of a checkup."""

    root: Path
    settings: Settings
    environ: Mapping[str, str]
    store: Store | None = None
    offer: EditorOffer | None = None
    find_local: FindLocal = find_local_services


async def check_everything(around: CheckupSubject, *, try_model: bool = False) -> tuple[Checked, ...]:
    """Return all there is to know at one look; with *try_model*, try the model's abilities with short calls."""
    return tuple(
        await asyncio.gather(
            _check_rolecall(around),
            check_model(around, ask=True, try_it=try_model),
            _check_confinement(around),
            _check_interpreter(around),
            _check_git(around.root),
        )
    )


async def check_model(around: CheckupSubject, *, ask: bool, try_it: bool = False) -> Checked:
    """Check which model answers and why; with *ask* the endpoint is asked what it offers, with *try_it* what
    it can do.
    """
    settings = around.settings.model
    named = bool(settings.name or settings.base_url or settings.replay)
    try:
        chosen = await find_model(
            settings, around.environ, offer=around.offer, store=around.store, find_local=around.find_local
        )
    except NoModelConfigured as missing:
        state = "broken" if named else "limited"
        without = "" if named else " Tests can be written without one, within limits."
        return Checked("model", state, missing.what + without, missing.next_step)
    except RolecallError as error:
        return Checked("model", "broken", error.what, error.next_step)
    try:
        chosen, problem = await _ask_endpoint(chosen, settings) if ask else (chosen, None)
        abilities = await _abilities(chosen, around.store, ask=ask and problem is None, try_it=try_it)
    finally:
        await chosen.client.aclose()
    return _describe(chosen, abilities, problem, settings)


def _describe(chosen: Chosen, abilities: Abilities, problem: RolecallError | None, settings: ModelSettings) -> Checked:
    facts = {
        "label": chosen.client.label,
        "why": chosen.why,
        "address": chosen.endpoint.address if chosen.endpoint else None,
        "model": chosen.model,
        "others": list(chosen.others),
        **_facts(abilities),
    }
    if problem is not None:
        return Checked("model", "broken", problem.what, problem.next_step, facts)
    what = f"{chosen.client.label}, because {chosen.why}. {_in_words(abilities)}".strip()
    room = abilities.context_tokens
    if room is not None and room < settings.context_tokens + _ROOM_FOR_A_REPLY:
        most = max(500, room - _ROOM_FOR_A_REPLY)
        return Checked(
            "model",
            "limited",
            f"{what} That is less than the {settings.context_tokens:,} tokens a role may be shown and its answer take.",
            f"Set rolecall.model.contextTokens to {most:,} or less, or give the local server a longer context.",
            facts,
        )
    return Checked("model", "fine", what, "", facts)


async def _ask_endpoint(chosen: Chosen, settings: ModelSettings) -> tuple[Chosen, RolecallError | None]:
    """Ask the endpoint for its models; return *chosen* with its model's name, and what prevents its use, or None where
    nothing does.
    """
    if chosen.endpoint is None:
        return chosen, None
    from rolecall_server.model.chat_completions.openai_chat import OpenAIChat  # the SDK takes long to import

    client = OpenAIChat(chosen.endpoint, chosen.model, min(settings.timeout_seconds, _LIST_TIMEOUT_S))
    try:
        names = await client.offered()
        named = replace(chosen, model=await client.settle_model())
    except RolecallError as error:
        return chosen, error
    finally:
        await client.aclose()
    # Ollama lists a model that was named without a tag as `NAME:latest`.
    if names and not any(named.model in (name, name.removesuffix(":latest")) for name in names):
        shown = ", ".join(names[:10])
        return named, UnknownModel(
            f"{chosen.endpoint.address} does not list {named.model}. It lists {shown}.",
            "Check the name in ROLECALL_MODEL (rolecall.model.name).",
        )
    return named, None


async def _abilities(chosen: Chosen, store: Store | None, *, ask: bool, try_it: bool) -> Abilities:
    """Return the known abilities of the model: just tried, or remembered, and what its server says of it without being
    tried.
    """
    if chosen.endpoint is None:
        return Abilities(context_tokens=chosen.context_tokens)
    if try_it and ask:
        from rolecall_server.model.selection.ability_trials import try_abilities  # seldom needed

        found = await try_abilities(chosen.endpoint, chosen.model)
        if store is not None:
            remember_abilities(store, chosen.endpoint, chosen.model, found)
        return found
    known = (recall_abilities(store, chosen.endpoint, chosen.model) if store is not None else None) or Abilities()
    if ask and chosen.endpoint.is_local and (service := await describe_service(chosen.endpoint)) is not None:
        model = next((each for each in service.models if chosen.model in ("", each.name)), None)
        if model is not None:
            context_tokens = model.context_tokens or known.context_tokens
            tools = known.tools if known.tools is not None else model.tools
            known = replace(known, service=service.name, context_tokens=context_tokens, tools=tools)
    return replace(known, context_tokens=known.context_tokens or chosen.context_tokens)


_ABILITY_WORDS = {
    "streaming": "streaming",
    "json_schema": "JSON schemas",
    "json_object": "JSON mode",
    "tools": "tools",
    "logprobs": "log probabilities",
    "parallel": "calls side by side",
}


def _facts(abilities: Abilities) -> dict[str, Any]:
    known = {to_camel(name): getattr(abilities, name) for name in ("service", "context_tokens", *_ABILITY_WORDS)}
    return {**known, "tried": abilities.tried}


def _in_words(abilities: Abilities) -> str:
    """Describe the known abilities, in a sentence or two."""
    told = f"Its context has {abilities.context_tokens:,} tokens. " if abilities.context_tokens else ""
    can = [words for name, words in _ABILITY_WORDS.items() if getattr(abilities, name)]
    cannot = [words for name, words in _ABILITY_WORDS.items() if getattr(abilities, name) is False]
    told += f"It can: {', '.join(can)}. " if can else ""
    told += f"It cannot: {', '.join(cannot)}. " if cannot else ""
    return told.strip()


async def _check_rolecall(around: CheckupSubject) -> Checked:
    where = f"; its store is {around.store.path}" if around.store is not None else ""
    python = platform.python_version()
    facts = {"version": __version__, "python": python, "system": platform.platform()}
    return Checked("rolecall", "fine", f"{__version__} on Python {python}{where}.", facts=facts)


async def _check_confinement(around: CheckupSubject) -> Checked:
    tests = around.settings.tests
    if not tests.run:
        return Checked("sandbox", "limited", "rolecall.tests.run is off: proposals come untested.")
    report = await describe_confinement(tests.confinement, around.root)
    facts = {
        "confinement": report.name,
        "program": report.program,
        "version": report.version,
        "laysOver": report.lays_over,
    }
    if not report.name:
        return Checked("sandbox", "broken", report.reason, report.next_step, facts)
    how = "the workspace is laid under each run" if report.lays_over else f"the workspace is copied: {report.reason}"
    state = "limited" if tests.confinement == "off" else "fine"
    return Checked("sandbox", state, f"How tests run: {report.name}; {how.rstrip('.')}.", report.next_step, facts)


async def _check_interpreter(around: CheckupSubject) -> Checked:
    tests = around.settings.tests
    found = find_interpreter(around.root, tests.interpreter, around.environ)
    if isinstance(found, NotRun):
        return Checked("interpreter", "broken", found.reason, found.next_step)
    facts: dict[str, Any] = {"path": str(found.path), "source": found.source}
    where = f"{found.path} ({found.source})"
    if not tests.run:
        return Checked("interpreter", "limited", f"{where}; not started: rolecall.tests.run is off.", facts=facts)
    if around.store is None:
        return Checked("interpreter", "limited", f"{where}; not started: the store cannot be read.", facts=facts)
    unconfirmed = await asyncio.to_thread(to_confirm, found, around.root, tests.interpreter, around.store)
    if unconfirmed is not None:
        what = f"{unconfirmed.question} Nobody has said yet that it may, so it was not started."
        facts["fingerprint"] = unconfirmed.fingerprint
        return Checked("interpreter", "limited", what, unconfirmed.refusal.next_step, facts)
    confinement = await choose_confinement(tests.confinement, around.root)
    async with shadow_workspace(Workspace(around.root), confinement, copies=cache_path() / "copies") as shadow:
        if isinstance(shadow, NotRun):
            return Checked("interpreter", "limited", f"{where}; not started: {shadow.reason}", facts=facts)
        return _describe_interpreter(found, await probe(shadow, found), facts)


def _describe_interpreter(found: Interpreter, answer: Capabilities | NotRun, facts: Mapping[str, Any]) -> Checked:
    if isinstance(answer, NotRun):
        return Checked("interpreter", "broken", answer.reason, answer.next_step, facts)
    version = ".".join(map(str, answer.version))
    facts = {
        **facts,
        "path": str(answer.program),
        "version": version,
        "modules": sorted(answer.modules),
        "leftOut": [str(each) for each in answer.places.left_out],
    }
    what = f"Python {version} at {answer.program} ({found.source})"
    left_out = answer.places.left_out_words
    if "pytest" not in answer.modules:
        return Checked(
            "interpreter",
            "broken",
            f"{what} has no pytest{left_out}.",
            "Install pytest there, or set rolecall.tests.interpreter to a Python that has it.",
            facts,
        )
    what = f"{what} with {', '.join(sorted(answer.modules))}{left_out}."
    return Checked("interpreter", "limited" if left_out else "fine", what, _OWN_PROJECTS if left_out else "", facts)


async def _check_git(root: Path) -> Checked:
    program = find_program("git", root)
    if program is None:
        return Checked("git", "limited", "git is not installed: what you changed last is not known.", "Install git.")
    version, inside = await asyncio.gather(
        _output(program, "--version"), _output(program, "-C", str(root), "rev-parse", "--is-inside-work-tree")
    )
    facts = {"path": program, "version": version, "repository": inside == "true"}
    if inside != "true":
        if refusal := await asyncio.to_thread(git_refusal, root):
            why, *_, cure = (line.strip() for line in refusal.splitlines())
            return Checked("git", "limited", f"{version}: {why}.", f"If you trust it: `{cure}`.", facts)
        return Checked("git", "limited", f"{version}; {root} is no repository.", facts=facts)
    return Checked("git", "fine", f"{version}; {root} is a repository.", facts=facts)


async def _output(*command: str) -> str:
    """Run a program and return the first line that it prints; empty where it fails."""
    run = partial(asyncio.create_subprocess_exec, stdin=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL)
    try:
        process = await run(*command, stdout=asyncio.subprocess.PIPE)
    except OSError:
        return ""
    try:
        async with asyncio.timeout(_GIT_TIMEOUT_S):
            printed, _ = await process.communicate()
    except TimeoutError:
        process.kill()
        await process.wait()
        return ""
    return printed.decode("utf-8", "replace").strip().split("\n")[0] if process.returncode == 0 else ""


def must_fix(checked: Sequence[Checked]) -> bool:
    """Return whether anything is broken."""
    return any(each.state == "broken" for each in checked)
