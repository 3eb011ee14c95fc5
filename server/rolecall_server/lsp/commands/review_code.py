"""Review code: what the rules find is shown at once; what a model says of it, and finds itself, when its run ends."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from rolecall_analysis import is_python
from rolecall_server.craft.code_review.candidates import ReviewScope, candidates_in_scope, commit_named
from rolecall_server.errors import FileRefused, NoModelConfigured
from rolecall_server.lsp.arguments import read_text_argument
from rolecall_server.lsp.proposals.faults import mark_faults
from rolecall_server.lsp.proposals.hunks import show_hunks
from rolecall_server.lsp.runs.running import repository_of, start_run
from rolecall_server.lsp.server import RolecallServer
from rolecall_server.team.code_review.verdicts import review_request


async def review_code(ls: RolecallServer, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Review a Python file, or what changed in its repository since a commit."""
    uri, since = read_text_argument(arguments, "uri"), read_text_argument(arguments, "since")
    if not uri:
        raise FileRefused("No file was named.", "Run the command from an open Python file.")
    folder, path = ls.session.place(uri)
    if not since and not is_python(path):
        raise FileRefused(f"{path} is no Python.", "Run the command from an open Python file.")
    reads = not arguments.get("rulesOnly")
    scope = ReviewScope((path,), reads=reads)
    if since:
        commit = await asyncio.to_thread(commit_named, folder.root, since)
        scope = ReviewScope(since=commit, reads=reads)
    repository = await repository_of(ls, folder)
    candidates, paths = await asyncio.to_thread(candidates_in_scope, folder.root, repository.snapshot, scope)
    run_id = ""
    n_found = len(candidates)
    said = f"{n_found} possible fault{'s' * (n_found != 1)} in {len(paths)} file{'s' * (len(paths) != 1)}"
    try:
        run_id = await start_run(ls, folder, review_request(scope)) if candidates or (reads and paths) else ""
    except NoModelConfigured:
        ls.tell(f"{said}, not judged by a model: some may be none." if candidates else f"{said}.")
    else:
        if not run_id:
            ls.tell(f"{said}.")
    mark_faults(ls.session, folder, paths, candidates, run_id)
    show_hunks(ls, folder)
    return {"candidates": n_found, **({"runId": run_id} if run_id else {})}
