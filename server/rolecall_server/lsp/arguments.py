"""The arguments of commands, from whoever sends them: a code action, a palette, a line of somebody's configuration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from lsprotocol import types
from pydantic import TypeAdapter, ValidationError

from rolecall_analysis import Position, enclosing_definition
from rolecall_server.context import AtHand, EditorDiagnostic
from rolecall_server.errors import NotFound, UserMustAct
from rolecall_server.lsp.folders import latest_snapshot
from rolecall_server.lsp.proposals.hunks import ShownHunk, shown_hunks, stale_hunks
from rolecall_server.lsp.session import Folder, Session
from rolecall_server.lsp.text.positions import place_at
from rolecall_server.review.acceptance import with_needs
from rolecall_server.review.proposals.proposal_store import DECIDED, Reviewed, check_undecided, last_act, load_proposal
from rolecall_server.workspace import split_lines

_MAX_DIAGNOSTICS = 20
_COMPLAINTS = TypeAdapter(tuple[EditorDiagnostic, ...])


def read_arguments(arguments: tuple[Any, ...]) -> Mapping[str, Any]:
    """Return the one object a command takes; empty where none was sent.

    Raises:
        UserMustAct: something else was sent.
    """
    match arguments:
        case ():
            return {}
        case (Mapping(),):
            return cast("Mapping[str, Any]", arguments[0])
        case _:
            raise UserMustAct("A Rolecall command takes one object.", "See docs/protocol.md for its fields.")


def read_text_argument(arguments: Mapping[str, Any], name: str) -> str:
    """Return a text among the arguments; empty where it is missing.

    Raises:
        UserMustAct: it is no text.
    """
    value = arguments.get(name) or ""
    if not isinstance(value, str):
        raise UserMustAct(f"{name!r} must be a text.", "See docs/protocol.md for the command's fields.")
    if any("\ud800" <= character <= "\udfff" for character in value):
        raise UserMustAct(f"{name!r} holds half a character, which cannot be stored.", "Type it again.")
    return value


def read_tests(arguments: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the node ids of tests among the arguments; none where they are missing.

    Raises:
        UserMustAct: they are no list of texts.
    """
    value: Any = arguments.get("tests", [])
    tests = cast("list[object]", value) if isinstance(value, list) else [None]
    if not all(isinstance(one, str) for one in tests):
        raise UserMustAct("'tests' must be a list of texts.", "See docs/protocol.md for the command's fields.")
    return tuple(read_text_argument({"tests": one}, "tests") for one in tests if one)


def read_range(arguments: Mapping[str, Any]) -> types.Range | None:
    """Return the range among the arguments, if there is one of the right shape."""
    try:
        start, end = arguments["range"]["start"], arguments["range"]["end"]
        return types.Range(
            types.Position(int(start["line"]), int(start["character"])),
            types.Position(int(end["line"]), int(end["character"])),
        )
    # Python reads a number such as 1e999 as infinity, and `int` refuses that with an OverflowError.
    except (KeyError, TypeError, ValueError, OverflowError):
        return None


def read_hand(arguments: Mapping[str, Any]) -> AtHand:
    """Return the state of the editor as the command came: the selection, if it is not empty, and what other tools say
    in it.
    """
    where = read_range(arguments)
    selected = (where.start.line + 1, where.end.line + 1) if where is not None and where.start != where.end else None
    try:
        complaints = _COMPLAINTS.validate_python(arguments.get("diagnostics") or ())
    except ValidationError:
        complaints = ()
    return AtHand(selected, complaints[:_MAX_DIAGNOSTICS])


async def symbol_at(session: Session, folder: Folder, path: str, uri: str, where: types.Range | None) -> str:
    """Return the dotted name of the innermost function or class around *where*; empty outside of any."""
    document = session.documents.get(uri)
    if where is None or document is None:
        return ""
    line, column = place_at(split_lines(document.text), where.start, session.client.encoding)
    definition = enclosing_definition(await latest_snapshot(session, folder), path, Position(line, column))
    return definition.qualified_name if definition is not None else ""


def find_proposal(session: Session, arguments: Mapping[str, Any]) -> tuple[Folder, Reviewed]:
    """Return the undecided proposal the arguments name; the newest one where they name none.

    Raises:
        NotFound: there is none.
    """
    wanted = read_text_argument(arguments, "proposalId")
    found = [
        (int(proposal_id[1:]), folder, reviewed)
        for folder in session.folders.values()
        for proposal_id, reviewed in folder.proposals.items()
        if wanted in ("", proposal_id)
    ]
    if not found:
        raise NotFound(f"There is no pending proposal {wanted}.".replace(" .", "."))
    _, folder, reviewed = max(found, key=lambda entry: entry[0])
    return folder, reviewed


def find_hunk(session: Session, arguments: Mapping[str, Any]) -> tuple[Folder, Reviewed, str]:
    """Return the hunk the arguments name by its ids, or by a place in a document.

    Raises:
        NotFound: there is none.
    """
    if hunk_id := read_text_argument(arguments, "hunkId"):
        folder, reviewed = find_proposal(session, arguments)
        check_undecided(reviewed, [hunk_id])
        return folder, reviewed, hunk_id
    where = read_range(arguments)
    uri = read_text_argument(arguments, "uri")
    for folder in session.folders.values():
        for shown in (*shown_hunks(session, folder), *stale_hunks(session, folder)):
            if where is not None and shown.uri == uri and overlaps(shown.range, where):
                return folder, shown.reviewed, shown.hunk.id
    raise NotFound("There is no pending hunk here.", "Put the cursor on a line that Rolecall marks.")


def find_hunks(session: Session, arguments: Mapping[str, Any]) -> tuple[Folder, Reviewed, tuple[str, ...]]:
    """Return the hunks that the arguments name: those of `hunkIds`, all of one proposal, else the one of `find_hunk`.

    Raises:
        NotFound: one of them does not exist or was decided before.
        UserMustAct: `hunkIds` is no list of ids.
    """
    match arguments.get("hunkIds"):
        case None:
            folder, reviewed, hunk_id = find_hunk(session, arguments)
            return folder, reviewed, (hunk_id,)
        case [str(), *_] as named if all(isinstance(each, str) for each in cast("list[object]", named)):
            folder, reviewed = find_proposal(session, arguments)
            hunk_ids = tuple(dict.fromkeys(cast("list[str]", named)))
            check_undecided(reviewed, hunk_ids)
            return folder, reviewed, hunk_ids
        case _:
            raise UserMustAct("'hunkIds' must be a list of ids of hunks.", "See docs/protocol.md.")


Chosen = tuple[Folder, Reviewed, frozenset[str]]
"""A proposal of a folder, and hunks of it to decide on."""


def find_hunks_of_several(session: Session, arguments: Mapping[str, Any]) -> list[Chosen] | None:
    """Return the hunks that `hunks` names, a list of ids for the id of each proposal; ``None`` where it is missing.

    Raises:
        NotFound: one of them does not exist or was decided before.
        UserMustAct: `hunks` has another shape.
    """
    named = arguments.get("hunks")
    if named is None:
        return None
    if not isinstance(named, Mapping) or not named or "" in named:
        raise UserMustAct("'hunks' must have a list of hunks for the id of each proposal.", "See docs/protocol.md.")
    of_each = cast("Mapping[str, object]", named)
    found = [find_hunks(session, {"proposalId": one, "hunkIds": hunk_ids or ()}) for one, hunk_ids in of_each.items()]
    return [(folder, reviewed, frozenset(hunk_ids)) for folder, reviewed, hunk_ids in found]


Decided = tuple[Folder, Reviewed, tuple[str, ...]]
"""A proposal of a folder, and hunks of it that are decided."""


def find_decided(session: Session, arguments: Mapping[str, Any]) -> tuple[Decided, ...]:
    """Return the decided hunks the arguments name by proposal and hunk; what was decided last, the latest first, where
    they name none.

    Raises:
        NotFound: there is nothing to undo.
    """
    proposal_id = read_text_argument(arguments, "proposalId")
    hunk_id = read_text_argument(arguments, "hunkId")
    if not proposal_id:
        return _last_decided(session)
    folder = session.folders.get(session.store.root_of(proposal_id))
    if folder is not None:
        reviewed = load_proposal(session.store, proposal_id)
        decided = [h for h, state in reviewed.states.items() if state in DECIDED and hunk_id in ("", h)]
        if decided:
            return ((folder, reviewed, tuple(decided)),)
    raise NotFound(f"Nothing is decided of {hunk_id or 'any hunk'} of {proposal_id}.", "Look at the pending proposals.")


def _last_decided(session: Session) -> tuple[Decided, ...]:
    acts = [(last_act(session.store, folder.root), folder) for folder in session.folders.values()]
    found = {act[0]: (folder, act[1]) for act, folder in acts if act is not None}
    if not found:
        raise NotFound("There is no decision to undo.", "Nothing was accepted or rejected in this folder yet.")
    last = max(found)
    together = session.decided_together if last in session.decided_together else {last}
    return tuple(
        (folder, load_proposal(session.store, proposal_id), hunk_ids)
        for act_id, (folder, decided) in sorted(found.items(), reverse=True)
        if act_id in together
        for proposal_id, hunk_ids in reversed(decided.items())
    )


def overlaps(one: types.Range, other: types.Range) -> bool:
    """Return whether two ranges share a line."""
    return one.start.line <= other.end.line and other.start.line <= one.end.line


def describe_needs(shown: ShownHunk) -> str:
    """``, with h1, which it needs``; empty where it needs nothing."""
    if not shown.hunk.needs:
        return ""
    wanted = with_needs(shown.reviewed.proposal, shown.reviewed.states, [shown.hunk.id])
    others = [hunk_id for hunk_id in wanted if hunk_id != shown.hunk.id]
    return f", with {', '.join(others)}, which it needs" if others else ""
