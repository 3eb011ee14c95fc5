"""A record of what was sent: every item that a role was shown, why, and how many tokens it took; what was left out, and
why.
"""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import TypeAdapter

from rolecall_server.context.items import ContextItem, LeftOut, Zoom
from rolecall_server.context.pack import ContextPack
from rolecall_server.workspace import sha256


@dataclass(frozen=True)
class ManifestEntry:
    """One item, without its text."""

    path: str
    reason: str
    zoom: Zoom
    first_line: int
    """From 1."""
    tokens: int
    """Estimated."""
    sha256: str
    """Of the text as it was shown, before secrets were covered."""


@dataclass(frozen=True)
class Manifest:
    """The items with which one conversation began, and those that were left out."""

    role: str
    budget_tokens: int
    shown: tuple[ManifestEntry, ...]
    left_out: tuple[LeftOut, ...]


MANIFEST_JSON = TypeAdapter(Manifest)
"""A manifest as JSON, in the store."""


def manifest_of(role: str, pack: ContextPack) -> Manifest:
    """Return the manifest of what *pack* shows to *role*, and what it leaves out."""
    return Manifest(role, pack.budget_tokens, tuple(map(_entry, pack.items)), pack.left_out)


def read_manifest(body: str) -> Manifest:
    """Return a stored manifest; one that an earlier Rolecall stored did not say why something was left out."""
    return MANIFEST_JSON.validate_json(body)


def render_manifest(manifest: Manifest) -> list[str]:
    """Return the manifest as lines of Markdown: a table of what was shown, and one of what was not."""
    tokens = sum(entry.tokens for entry in manifest.shown)
    lines = [f"Of the repository, about {tokens:,} of {manifest.budget_tokens:,} tokens:", ""]
    if manifest.shown:
        lines += ["| shown | as | tokens | because | sha256 |", "| --- | --- | ---: | --- | --- |"]
        lines += [
            f"| {_place(one)} | {one.zoom} | {one.tokens:,} | {one.reason} | {one.sha256[:12]} |"
            for one in manifest.shown
        ]
    else:
        lines.append("nothing.")
    if manifest.left_out:
        lines += ["", "Left out:", "", "| left out | as | tokens | would be shown because | but |"]
        lines.append("| --- | --- | ---: | --- | --- |")
        lines += [
            f"| {_place(one)} | {one.zoom} | {one.tokens or '?'} | {one.reason} | {one.why} |"
            for one in manifest.left_out
        ]
    return lines


def _place(one: ManifestEntry | LeftOut) -> str:
    """Return the path, with the line where a piece begins; a bar in a name must not end the cell."""
    line = f":{one.first_line}" if one.zoom in ("body", "signature") else ""
    return f"{one.path}{line}".replace("|", "\\|")


def _entry(item: ContextItem) -> ManifestEntry:
    return ManifestEntry(item.path, item.reason, item.zoom, item.first_line, item.tokens, sha256(item.text))
