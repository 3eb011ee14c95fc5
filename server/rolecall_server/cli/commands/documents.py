"""`rolecall documents`: what the team wrote down for this repository, to read, to edit, to check. No model is asked."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from rolecall_server.cli.boundary import exit_code_of
from rolecall_server.cli.reading import read_code
from rolecall_server.cli.repository import open_repository
from rolecall_server.cli.screen import Screen, print_json, say, say_prose, show_markdown, shown
from rolecall_server.errors import DocumentRefused, FileRefused, NotFound
from rolecall_server.review.proposals.proposal_store import load_run
from rolecall_server.store import Store
from rolecall_server.team.documents import Document, parse, render
from rolecall_server.team.documents.document_store import DEVELOPER, documents_in, load_document, revise
from rolecall_server.team.documents.links.code_links import is_there, unresolved
from rolecall_server.team.documents.links.linking import changed_since, check_links, linked, orphans, unmade
from rolecall_server.team.documents.understanding import understand
from rolecall_server.workspace import Workspace, file_exists, read_text_or_none

_NOT_STORED = "new"


def run_documents(arguments: argparse.Namespace) -> int:
    """Carry out `rolecall documents`; the exit code: 1 where something that was checked does not fit."""
    return exit_code_of(lambda: _documents(arguments), as_json=arguments.json)


def _documents(arguments: argparse.Namespace) -> int:
    store, workspace = open_repository(arguments)
    if arguments.understand:
        _show(_understanding(workspace), arguments)
        return 0
    runs = documents_in(store, workspace.root)
    chosen = {
        run_id: documents
        for run_id, documents in runs.items()
        if arguments.what in (None, run_id, *(document.id for document in documents))
    }
    if arguments.what is not None and not chosen:
        raise NotFound(f"There is no {arguments.what} here.", "`rolecall documents` lists what there is.")
    if arguments.check:
        return _check(store, workspace, chosen, arguments)
    if arguments.what in (None, *chosen):
        _list(chosen, arguments)
    elif arguments.take is not None:
        say(Screen(), _take(store, arguments.what, arguments.take))
    else:
        _show(load_document(store, arguments.what), arguments)
    return 0


def _understanding(workspace: Workspace) -> Document:
    """Return a document on the repository as it is understood without a model; it is shown, and not stored."""
    code = read_code(workspace.root, Screen(stderr=True))
    return Document(id=_NOT_STORED, author=DEVELOPER, content=understand(code.snapshot, workspace))


def _list(runs: dict[str, tuple[Document, ...]], arguments: argparse.Namespace) -> None:
    """The documents, run by run."""
    if arguments.json:
        print_json([{"runId": run_id, **_as_json(each)} for run_id, documents in runs.items() for each in documents])
        return
    screen = Screen()
    if not runs:
        say(screen, "The team has written nothing down for this repository yet.")
    for run_id, documents in runs.items():
        say(screen, run_id, "bold")
        for each in documents:
            say_prose(screen, f"  {each.id}  {each.kind}, version {each.version} by {each.author}: {each.title}")


def _show(document: Document, arguments: argparse.Namespace) -> None:
    screen = Screen()
    if arguments.json:
        print_json(_as_json(document))
    elif screen.is_terminal:
        show_markdown(screen, render(document).partition("\n---\n")[2])
    else:
        # What is stored can be taken back as it stands; names in what is not are only read.
        text = render(document)
        sys.stdout.write(text if document.id != _NOT_STORED else shown(text).plain)


def _take(store: Store, document_id: str, path: Path) -> str:
    """Store the text in *path* as the next version; a word about it.

    Raises:
        DocumentRefused: it cannot be read as that document.
        FileRefused: there is no such file.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise FileRefused(f"{path} cannot be read: {error}.", "Name a file with the edited document.") from error
    stored = load_document(store, document_id)
    written, problems = parse(stored.kind, text, stored)
    told = "".join(f"\n{path}:{problem.line + 1}: {problem.what}" for problem in problems)
    if written is None:
        raise DocumentRefused(f"{path} is not taken.{told}\n")
    taken = revise(store, document_id, DEVELOPER, written.content)
    return f"{document_id} is in version {taken.version}.{told}"


def _check(
    store: Store, workspace: Workspace, runs: dict[str, tuple[Document, ...]], arguments: argparse.Namespace
) -> int:
    """Say what does not fit in the runs' documents; 1 where something does not."""
    snapshot = read_code(workspace.root, Screen(stderr=True)).snapshot
    found: list[dict[str, str]] = []
    for run_id, documents in runs.items():
        proposals = load_run(store, run_id)
        run = linked(documents, proposals)
        for document in documents:
            flaws = [(flaw.about, flaw.what) for flaw in check_links(document, documents)]
            there = partial(file_exists, workspace)
            dangling = unresolved(document, snapshot, documents, there, run.accepted_files)
            flaws += [(each.reference, str(each)) for each in dangling]
            found += [{"document": document.id, "about": about, "what": what} for about, what in flaws]
        missing = dict(unmade(run, partial(is_there, snapshot, partial(file_exists, workspace))))
        drift = (
            *sorted((orphans(run) | missing).items()),
            *changed_since(proposals, partial(read_text_or_none, workspace)),
        )
        found += [{"document": "", "about": about, "what": what} for about, what in drift]
    if arguments.json:
        print_json([*found])
    else:
        screen = Screen()
        for line in _told(found):
            say_prose(screen, line)
    return 1 if found else 0


def _told(found: list[dict[str, str]]) -> Iterator[str]:
    for each in found:
        yield f"{each['document']}: {each['what']}" if each["document"] else each["what"]
    if not found:
        yield "Everything fits."


def _as_json(document: Document) -> dict[str, Any]:
    return document.model_dump(mode="json")
