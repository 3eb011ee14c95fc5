"""The repository's own rules for those who work in it, read where the developer's team has committed them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from rolecall_analysis.retrieval.history.committed import committed_text
from rolecall_server.context.items import ContextItem, LeftOut, PackSource
from rolecall_server.workspace import BOM, read_text_or_none

RULE_FILES = (".rolecall/rules.md", "AGENTS.md", "CLAUDE.md")
"""The first are nearest to us; where two say the same, one is shown."""
RULES_OF_ROLES = ".rolecall/rules"
"""The folder with rules for one role each, such as ``engineer.md``."""

Consent = Literal["committed", "always", "off"]
"""The rules that count: those that stand in the last commit as they are now, all, or none."""

_SHARE = 0.2
"""Of the room; rules that take more say little about any one task."""
_REASON = "rules of this repository"
_UNCOMMITTED = "it is not committed as it is now"
_REASON_OF_ROLE = "rules for this role, accepted by the developer"


def rules_path(role: str) -> str:
    """Return the path of the file with the rules for *role* alone: ``.rolecall/rules/engineer.md``."""
    return f"{RULES_OF_ROLES}/{role}.md"


def house_rules(
    view: PackSource, consent: Consent, room_tokens: int, role: str = "", accepted: str = ""
) -> Iterator[ContextItem | LeftOut]:
    """Yield the rules of the repository that count for *role*, each file whole or not at all.

    A file that lies there uncommitted may have come with anything, a download or a proposal: it does not count. The
    rules of the role itself do where they are *accepted*, word for word: the developer read them first.
    """
    left, seen = int(room_tokens * _SHARE), set[str]()
    own = (rules_path(role),) if role else ()
    for path in (*own, *RULE_FILES) if consent != "off" else ():
        text = read_text_or_none(view.workspace, path)
        if text is None or not text.strip() or text in seen:
            continue
        seen.add(text)
        tokens, reason = view.count_tokens(text), _REASON_OF_ROLE if path in own else _REASON
        counts = consent == "always" or (path in own and text == accepted) or _is_committed(view, path, text)
        if not counts:
            said = "it is neither committed nor accepted as it is now" if path in own else _UNCOMMITTED
            yield LeftOut(path, reason, "file", 1, tokens, said)
        elif tokens > left:
            yield LeftOut(path, reason, "file", 1, tokens, "rules may take a fifth of the room")
        else:
            left -= tokens
            yield ContextItem(path, reason, "file", text, 1, tokens)


def _is_committed(view: PackSource, path: str, text: str) -> bool:
    committed = committed_text(view.workspace.root, path)
    return committed is not None and _plain(committed) == _plain(text)


def _plain(text: str) -> str:
    return text.removeprefix(BOM).replace("\r\n", "\n")
