"""Past changes of the repository that are like a task, as who works on it is shown them."""

from __future__ import annotations

from rolecall_analysis.retrieval import PastChange, changes_alike
from rolecall_server.context import corpus_of
from rolecall_server.craft.feedback import fenced, trimmed
from rolecall_server.model.prompts import prompts_beside
from rolecall_server.team.request import Desk
from rolecall_server.workspace import why_private

_PROMPTS = prompts_beside(__file__)
_DIFF_LINES = 40
"""Of each file."""
_MOST_FILES = 3
_MOST_OF_SUBJECT = 200
"""Characters."""


def recall_changes(desk: Desk, task: str) -> tuple[tuple[str, str], ...]:
    """Return the past changes that are most like *task*, as many as the developer wants, each as a text and as a line;
    without files that are kept from models.
    """
    most = desk.settings.team.past_changes
    if not most or not task.strip():
        return ()
    found = changes_alike(corpus_of(desk.view), desk.snapshot, task, most)
    told = (_told(desk, one) for one in found)
    return tuple(one for one in told if one is not None)


def head() -> str:
    """Return the heading above past changes."""
    return _PROMPTS["head"]


def _told(desk: Desk, change: PastChange) -> tuple[str, str] | None:
    """Return *change* as a text and as a line; ``None`` where nothing of it may be shown."""
    subject = change.message.partition("\n")[0][:_MOST_OF_SUBJECT]
    shown = {path: diff for path, diff in change.diffs.items() if why_private(desk.workspace, path) is None}
    if not shown:
        return None
    files = [f"{path}\n{fenced(trimmed(diff, _DIFF_LINES))}" for path, diff in [*shown.items()][:_MOST_FILES]]
    others = [*shown][_MOST_FILES:]
    more = [f"And {', '.join(others)}."] if others else []
    text = _PROMPTS["change"].format(subject=subject, files="\n\n".join([*files, *more]))
    return text, f"- {subject} ({', '.join(shown)})"
