"""`textDocument/codeAction`: what can be decided at this place, and what a role can be asked here.

Some editors show them in this order: what is decided with one key stands above what asks for words. Titles are given at
once. Where the editor can ask for the rest of an action when somebody chooses it, the rest waits
until then (`code_action_resolve`).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Mapping, Sequence

from lsprotocol import types

from rolecall_analysis import is_test, is_test_path
from rolecall_server.craft.code_review.follow_up import FollowUp, follow_up
from rolecall_server.errors import FileRefused
from rolecall_server.lsp.arguments import describe_needs, overlaps, symbol_at
from rolecall_server.lsp.client import Client
from rolecall_server.lsp.folders import latest_snapshot
from rolecall_server.lsp.pages.answers import missing_tasks_in
from rolecall_server.lsp.pages.files import OpenRun, open_run
from rolecall_server.lsp.proposals.faults import shown_faults
from rolecall_server.lsp.proposals.findings import shown_findings
from rolecall_server.lsp.proposals.hunks import ShownHunk, decided_last, diagnostic_of, shown_hunks, stale_hunks
from rolecall_server.lsp.server import RolecallServer
from rolecall_server.lsp.session import Folder, Session
from rolecall_server.lsp.text.documents import brief_comment
from rolecall_server.lsp.to_lsp import SOURCE
from rolecall_server.review.guards.cautions import caution_mark
from rolecall_server.review.guards.guarded_paths import guarded_paths
from rolecall_server.review.proposals.proposal import HunkKind, Proposal
from rolecall_server.review.proposals.proposal_store import Reviewed
from rolecall_server.review.proposals.rendering import describe_hunk, visible
from rolecall_server.team.request import node_id_of
from rolecall_server.workspace import Workspace

_MAX_WORDS = 60


async def code_action(
    ls: RolecallServer, params: types.CodeActionParams
) -> Sequence[types.CodeAction] | Sequence[types.Command]:
    """Return the actions on *params.range* of the kinds the editor asks for; only their commands where it supports
    nothing else.
    """
    session, uri = ls.session, params.text_document.uri
    if (run := open_run(session, uri)) is not None:
        return _as_the_editor_knows_it(session.client, [action async for action in _on_page(ls, run, params)], params)
    try:
        folder, path = session.place(uri)
    except FileRefused:
        return []
    symbol = await symbol_at(session, folder, path, uri, params.range)
    is_module = path.endswith(".py") and not is_test(await latest_snapshot(session, folder), path)
    draws = session.client.review  # then what can be decided stands beside the hunk that the editor draws
    here = [] if draws else [*_here(shown_hunks(session, folder), params)]
    stale = [] if draws else [*_here(stale_hunks(session, folder), params)]
    actions = [
        *(action for shown in here for action in _on_hunk(session.client, shown, is_alone=len(here) == 1)),
        *(action for shown in stale for action in _on_stale(session.client, shown)),
        *_on_files(session, folder, here),
        *_on_proposals(session, folder, here, stale),
        *_on_everything(session, here),
        *_in_words(session.client, here),
        *_undo(session, folder, path),
        *_on_findings(session, folder, params, symbol),
        *_on_faults(session, folder, params, is_module=is_module),
        *_mending(ls, params, symbol),
        *_failing(ls.session.client, params, path, symbol),
        *_requests(ls, params, symbol, is_module=is_module),
    ]
    return _as_the_editor_knows_it(session.client, actions, params)


def _as_the_editor_knows_it(
    client: Client, actions: Iterable[types.CodeAction], params: types.CodeActionParams
) -> Sequence[types.CodeAction] | Sequence[types.Command]:
    wanted = [action for action in actions if _asked_for(action, params.context.only)]
    if client.code_actions:
        return wanted
    return [action.command for action in wanted if action.command is not None]


async def _on_page(ls: RolecallServer, run: OpenRun, params: types.CodeActionParams) -> AsyncIterator[types.CodeAction]:
    """Yield what can be done about a task that is missing, where a document of the team describes it."""
    missing = await missing_tasks_in(ls, run)
    lines = range(params.range.start.line, params.range.end.line + 1)
    if any(each.is_entry and each.name in missing and each.line in lines for each in run.page.mentions):
        title = f"have done what is missing in {run.id} ({', '.join(missing)})"
        yield _quick_fix(ls.session.client, title, "rolecall.run.resume", {"runId": run.id, "missing": True})


def _here(hunks: Iterable[ShownHunk], params: types.CodeActionParams) -> Iterator[ShownHunk]:
    for shown in hunks:
        if shown.uri == params.text_document.uri and overlaps(shown.range, params.range):
            yield shown


def _on_hunk(client: Client, shown: ShownHunk, *, is_alone: bool) -> Iterator[types.CodeAction]:
    hunk, target = shown.hunk, _target(shown)
    what = f"{hunk.id}: {describe_hunk(shown.change, hunk)}{caution_mark(shown.change, hunk)}"
    accept = _quick_fix(client, f"accept {what}{describe_needs(shown)}", "rolecall.hunk.accept", target, shown)
    accept.is_preferred = (is_alone and not hunk.off) or None  # an editor's key for the one obvious fix takes it
    yield accept
    yield _quick_fix(client, f"reject {what}", "rolecall.hunk.reject", target, shown)
    yield _quick_fix(client, f"show {hunk.id} as a diff", "rolecall.proposal.show", target, shown)


def _in_words(client: Client, here: Sequence[ShownHunk]) -> Iterator[types.CodeAction]:
    """Yield the code actions for which the developer is asked to write something."""
    for shown in here:
        hunk, target = shown.hunk, _target(shown)
        if hunk.kind is HunkKind.TEXT:
            yield _quick_fix(client, f"edit {hunk.id}…", "rolecall.hunk.edit", target)
        yield _quick_fix(client, f"have {hunk.id} made anew…", "rolecall.hunk.revise", {**target, "ask": True})
        yield _quick_fix(client, f"reject {hunk.id} and say why…", "rolecall.hunk.reject", {**target, "ask": True})
    for proposal_id in {shown.reviewed.proposal.id: None for shown in here if len(shown.reviewed.taken_together) > 1}:
        target = {"proposalId": proposal_id}
        yield _quick_fix(client, f"have all of {proposal_id} made anew…", "rolecall.proposal.revise", target)


def _on_stale(client: Client, shown: ShownHunk) -> Iterator[types.CodeAction]:
    target = _target(shown)
    what = f"{shown.hunk.id}, which is stale: {describe_hunk(shown.change, shown.hunk)}"
    yield _quick_fix(client, f"regenerate {what}", "rolecall.hunk.revise", target, shown)
    yield _quick_fix(client, f"reject {what}", "rolecall.hunk.reject", target, shown)
    yield _quick_fix(client, f"show {shown.hunk.id} as a diff", "rolecall.proposal.show", target, shown)


def _on_files(session: Session, folder: Folder, here: Sequence[ShownHunk]) -> Iterator[types.CodeAction]:
    client, workspace = session.client, session.workspace(folder)
    for shown in {(shown.reviewed.proposal.id, shown.change.path): shown for shown in here}.values():
        proposal, path = shown.reviewed.proposal, shown.change.path
        target = {"proposalId": proposal.id, "path": path}
        what = f"all of {proposal.id} in {path}"
        taken = {hunk.id for hunk in shown.change.hunks} & shown.reviewed.taken_together
        guard = _guard_mark(workspace, proposal, taken)
        yield _quick_fix(client, f"accept {what}{guard}", "rolecall.file.accept", target)
        yield _quick_fix(client, f"reject {what}", "rolecall.file.reject", target)
        if len(proposal.files) > 1:
            yield _quick_fix(client, f"show {what} as a diff", "rolecall.proposal.show", target)


def _on_proposals(
    session: Session, folder: Folder, here: Sequence[ShownHunk], stale: Sequence[ShownHunk]
) -> Iterator[types.CodeAction]:
    client, workspace = session.client, session.workspace(folder)
    offered = {shown.reviewed.proposal.id for shown in here}
    for shown in {shown.reviewed.proposal.id: shown for shown in (*stale, *here)}.values():
        reviewed, proposal = shown.reviewed, shown.reviewed.proposal
        target = {"proposalId": proposal.id}
        yield _quick_fix(client, f"show {proposal.id} as a diff", "rolecall.proposal.show", target)
        if proposal.evidence.model:
            yield _quick_fix(client, f"what was the model told for {proposal.id}?", "rolecall.run.context", target)
        if len(proposal.files) > 1 and proposal.id in offered:
            guard = _guard_mark(workspace, proposal, reviewed.taken_together)
            yield _quick_fix(client, f"accept all of {proposal.id}{guard}", "rolecall.proposal.accept", target)
            yield _quick_fix(client, f"reject all of {proposal.id}", "rolecall.proposal.reject", target)


def _on_everything(session: Session, here: Sequence[ShownHunk]) -> Iterator[types.CodeAction]:
    n_waiting = sum(len(folder.proposals) for folder in session.folders.values())
    if here and n_waiting > 1:
        what = f"everything in all {n_waiting} proposals"
        yield _quick_fix(session.client, f"accept {what}", "rolecall.all.accept", {})
        yield _quick_fix(session.client, f"reject {what}", "rolecall.all.reject", {})


def _undo(session: Session, folder: Folder, path: str) -> Iterator[types.CodeAction]:
    """Offered in the files of the proposal that was decided on last."""
    decided = decided_last(session, folder)
    proposals = [reviewed.proposal for reviewed, _ in decided]
    if any(path == proposal.origin or proposal.change_of(path) is not None for proposal in proposals):
        title = f"undo the last decision ({'; '.join(_decided(*each) for each in decided)})"
        hunk_ids = [hunk_id for _, of_it in decided for hunk_id in of_it]
        target = {"proposalId": proposals[0].id, "hunkId": hunk_ids[0]} if len(hunk_ids) == 1 else {}
        yield _action(session.client, types.CodeActionKind.Refactor, title, "rolecall.decision.undo", target)


def _decided(reviewed: Reviewed, hunk_ids: Sequence[str]) -> str:
    """``p7: h1 accepted, h2 rejected and 4 more``"""
    was = ", ".join(f"{hunk_id} {reviewed.states[hunk_id]}" for hunk_id in hunk_ids[:3])
    return f"{reviewed.proposal.id}: {was}{f' and {len(hunk_ids) - 3} more' if len(hunk_ids) > 3 else ''}"


def _requests(
    ls: RolecallServer, params: types.CodeActionParams, symbol: str, *, is_module: bool
) -> Iterator[types.CodeAction]:
    uri, client = params.text_document.uri, ls.session.client
    if is_module:
        command, target = "rolecall.tests.generate", {"uri": uri}
        if symbol:
            yield _refactor(client, f"generate tests for {symbol}", command, {**target, "symbol": symbol})
        yield _refactor(client, "generate tests for this file", command, target)
        yield _refactor(client, "generate tests as I say…", command, {**target, "ask": True})
    document = ls.session.documents.get(uri)
    brief = brief_comment(document.text, params.range.start.line, params.range.end.line) if document else ""
    if brief:
        target = {"uri": uri, "brief": brief, "symbol": symbol, **_at_hand(params)}
        yield _refactor(client, f"implement “{brief}”", "rolecall.brief.implement", target)
    else:
        yield _refactor(
            client, "implement…", "rolecall.brief.implement", {"uri": uri, "symbol": symbol, **_at_hand(params)}
        )


def _on_findings(
    session: Session, folder: Folder, params: types.CodeActionParams, symbol: str
) -> Iterator[types.CodeAction]:
    """Yield a fix for each finding here: the Engineer is asked for it, and what it writes is a proposal."""
    uri = params.text_document.uri
    for found_in, finding in shown_findings(folder):
        if found_in == uri and overlaps(finding.range, params.range):
            brief = f"Mend this. {' '.join(finding.message.split())}"
            target = {"uri": uri, "brief": brief, "symbol": symbol}
            first = finding.message.splitlines()[0]
            title = f"propose a fix of “{_short(first.split(': ', 2)[-1])}”"  # without the place, which is here
            action = _quick_fix(session.client, title, "rolecall.brief.implement", target)
            action.diagnostics = [finding]
            yield action


def _on_faults(
    session: Session, folder: Folder, params: types.CodeActionParams, *, is_module: bool
) -> Iterator[types.CodeAction]:
    """Yield a test and a fix for each possible fault here that a review found."""
    uri = params.text_document.uri
    for shown in shown_faults(session, folder):
        if shown.uri != uri or not overlaps(shown.diagnostic.range, params.range):
            continue
        candidate, verdict = shown.mark.candidate, shown.mark.verdict
        wishes: list[tuple[FollowUp, str, str]] = [("fix", "propose a fix of", "rolecall.brief.implement")]
        if is_module:
            wishes.insert(0, ("test", "write a test that shows", "rolecall.tests.generate"))
        for wanted, what, command in wishes:
            brief = follow_up(wanted, candidate, verdict, moved=shown.moved)
            target = {"uri": uri, "symbol": candidate.fault.scope, "brief": brief}
            action = _quick_fix(session.client, f"{what} “{_short(candidate.fault.message)}”", command, target)
            action.diagnostics = [shown.diagnostic]
            yield action


def _short(words: str) -> str:
    return words if len(words) <= _MAX_WORDS else f"{words[: _MAX_WORDS - 1]}…"


def _mending(ls: RolecallServer, params: types.CodeActionParams, symbol: str) -> Iterator[types.CodeAction]:
    """Yield a fix for what another tool says here, in an editor that draws the review: it becomes a proposal."""
    said = [one for one in params.context.diagnostics if one.source != SOURCE]
    if ls.session.client.review and said:
        words = " ".join(said[0].message.split())
        target = {"uri": params.text_document.uri, "brief": f"Mend: {words}", "symbol": symbol, **_at_hand(params)}
        yield _quick_fix(ls.session.client, f"propose a fix of “{_short(words)}”", "rolecall.brief.implement", target)


def _failing(client: Client, params: types.CodeActionParams, path: str, symbol: str) -> Iterator[types.CodeAction]:
    """Yield the request to have mended what makes the test here fail; it says so where it does not."""
    test = node_id_of(path, symbol)
    if is_test_path(path) and "::" in test:
        target = {"uri": params.text_document.uri, "tests": [test]}
        yield _refactor(client, f"mend what makes {symbol} fail", "rolecall.fix", target)


def _at_hand(params: types.CodeActionParams) -> dict[str, object]:
    """Return the selection and what other tools say there: only here does a server hear of their diagnostics."""
    others = [one for one in params.context.diagnostics if one.source != SOURCE]
    said = [{"line": one.range.start.line + 1, "message": one.message, "source": one.source or ""} for one in others]
    selected = {"range": _plain(params.range)} if params.range.start != params.range.end else {}
    return {**selected, **({"diagnostics": said} if said else {})}


def _plain(where: types.Range) -> dict[str, dict[str, int]]:
    return {
        name: {"line": place.line, "character": place.character}
        for name, place in (("start", where.start), ("end", where.end))
    }


def _target(shown: ShownHunk) -> dict[str, object]:
    return {"proposalId": shown.reviewed.proposal.id, "hunkId": shown.hunk.id}


def _guard_mark(workspace: Workspace, proposal: Proposal, hunk_ids: Collection[str]) -> str:
    guarded = guarded_paths(workspace, proposal, hunk_ids)
    return f" [guarded: {', '.join(guarded)}]" if guarded else ""


def _quick_fix(
    client: Client, title: str, command: str, target: Mapping[str, object], shown: ShownHunk | None = None
) -> types.CodeAction:
    return _action(client, types.CodeActionKind.QuickFix, title, command, target, shown=shown)


def _refactor(client: Client, title: str, command: str, target: Mapping[str, object]) -> types.CodeAction:
    return _action(client, types.CodeActionKind.Refactor, title, command, target)


def _action(
    client: Client,
    kind: types.CodeActionKind,
    title: str,
    command: str,
    target: Mapping[str, object],
    *,
    shown: ShownHunk | None = None,
) -> types.CodeAction:
    """Return an action with everything that the editor does not ask for later; `data` is what the rest is made from."""
    title = visible(f"Rolecall: {title}")
    action = types.CodeAction(title, kind=kind)
    later = client.resolves & {"command", "diagnostics"}
    if "command" not in later:
        action.command = types.Command(title, command, arguments=[target])
    if "diagnostics" not in later and shown is not None:
        action.diagnostics = [diagnostic_of(shown)]
    if later:
        action.data = {"command": command, "target": target, "hasDiagnostic": shown is not None}
    return action


def _asked_for(action: types.CodeAction, only: Sequence[types.CodeActionKind | str] | None) -> bool:
    """Return whether an editor that asks for *only* these kinds, or for all, wants *action*."""
    if not only:
        return True
    kind = str(action.kind.value if isinstance(action.kind, types.CodeActionKind) else action.kind)
    wanted = [str(each.value if isinstance(each, types.CodeActionKind) else each) for each in only]
    return any(each in ("", kind) or kind.startswith(f"{each}.") for each in wanted)
