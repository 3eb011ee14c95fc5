"""Past changes of a repository that are like a brief: what the Engineer is shown of them, and what nobody is."""

from __future__ import annotations

from pathlib import Path

from rolecall_analysis import Index
from rolecall_server.model import Chosen
from rolecall_server.settings import read_settings
from rolecall_server.team.request import Repository, RoleName, RunRequest
from rolecall_server.workspace import Workspace
from support.edits import block
from support.role_run import ask_role
from support.scripted_model import ScriptedModel
from support.stores import open_store
from support.traps import git
from support.workspaces import FILES, environment, write_workspace

PRICE = "shop/price.py"
BRIEF = "Let discount refuse a rate below zero."
FIX = block(PRICE, "    if rate > 1:\n", "    if rate > 1 or rate < 0:\n")
BEFORE = FILES[PRICE].replace('    if rate > 1:\n        raise ValueError("rate")\n', "")
HEAD = "# How this repository was changed before"


def commit(root: Path, message: str, files: dict[str, str]) -> None:
    write_workspace(root, files)
    git(root, "add", "-A")
    git(root, "commit", "-qm", message)


def shop(folder: Path) -> Path:
    """A shop with three changes behind it: the one that is like the brief, another, and one of a file that is gone."""
    root = write_workspace(folder / "work", {**FILES, PRICE: BEFORE, "notes.md": "# Notes\n"})
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "Sell things")
    commit(root, "Let discount refuse a rate above one\n\nNobody pays to sell.", {PRICE: FILES[PRICE]})
    commit(root, "Let discount refuse a rate of None", {"gone.py": "RATE = None\n", "notes.md": "# Notes\n\nNone.\n"})
    (root / "gone.py").unlink()
    commit(root, "Take the rate of None away", {"notes.md": "# Notes\n\nNone at all.\n"})
    return root


async def shown(folder: Path, request: RunRequest, n_changes: int) -> str:
    """All that the Engineer is told first."""
    root = shop(folder)
    index = Index(root)
    index.scan()
    given = {"team": {"pastChanges": n_changes}, "tests": {"run": False}}
    settings, _ = read_settings(given, {})
    store, environ = open_store(folder / "rolecall.db"), environment(folder)
    repository = Repository(Workspace(root), index.snapshot(), store, settings, environ)
    index.close()
    model = ScriptedModel([FIX])
    await ask_role(request, repository, Chosen(model, "the test names it"))
    return model.asked[0][1].text


def wish(brief: str = BRIEF) -> RunRequest:
    return RunRequest(RoleName.ENGINEER, PRICE, "", brief)


async def test_the_change_that_was_described_most_like_the_brief_is_shown_with_its_lines(tmp_path: Path) -> None:
    long = wish(f"{BRIEF}\n\n{'Who sells below the cost pays for it himself. ' * 60}")  # of which a tenth has room
    told = (await shown(tmp_path, long, 1)).partition(HEAD)[2].partition("# Your task")[0]
    assert "## Let discount refuse a rate above one\n\nshop/price.py\n````\n@@ " in told
    assert "+    if rate > 1:\n" in told
    assert "Nobody pays to sell" not in told, "its subject is enough"
    assert told.count("\n## ") == 1


async def test_where_a_tenth_of_the_prompt_is_little_a_line_is_shown(tmp_path: Path) -> None:
    told = await shown(tmp_path, wish(), 1)
    assert "\n- Let discount refuse a rate above one (shop/price.py)\n" in told


async def test_they_stand_before_the_task_and_there_are_no_more_than_wanted(tmp_path: Path) -> None:
    told = await shown(tmp_path, wish(), 5)
    assert told.index("# The repository") < told.index(HEAD) < told.index("# Your task")
    assert "RATE = None" not in told, "its file is gone"


async def test_nothing_of_the_past_is_shown_unless_it_is_wanted(tmp_path: Path) -> None:
    assert HEAD not in await shown(tmp_path, wish(), 0)


async def test_a_file_that_is_kept_from_models_is_kept_from_them_in_its_past_too(tmp_path: Path) -> None:
    write_workspace(tmp_path / "work", {".aiignore": "notes.md\n"})
    told = await shown(tmp_path, RunRequest(RoleName.ENGINEER, PRICE, "", "Take the rate of None away."), 3)
    assert "None at all" not in told
    assert "# Notes" not in told
