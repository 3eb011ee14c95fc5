"""Roles as files: ours, those of a repository, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from rolecall_server.errors import FileRefused
from rolecall_server.team.roles.declarations import (
    Verb,
    confirm_roles,
    find_roles,
    known_roles,
    our_roles,
    roles_to_confirm,
    roster_of,
)
from rolecall_server.workspace import Workspace
from support.stores import open_store
from support.workspaces import write_workspace

WRITES_REVIEWS = 'title = "Security"\ngoal = "No holes."\n[[duty]]\ndoes = "write"\nwatches = ["change"]\n'


def workspace(folder: Path, **files: str) -> Workspace:
    """A repository with these files among its roles; ``__`` stands for the dot."""
    named = {f".rolecall/roles/{name.replace('__', '.')}": text for name, text in files.items()}
    return Workspace(write_workspace(folder / "work", named or {"a.py": ""}))


def test_every_role_of_ours_says_what_it_watches_and_publishes() -> None:
    published = {kind for role in our_roles().values() for duty in role.duty for kind in duty.publishes}
    assert {"requirements", "design", "task list", "edits", "tests", "change", "review", "proposal"} <= published
    assert all(role.goal and role.title and role.prompt for role in our_roles().values())


def test_what_nobody_is_there_for_is_done_by_the_team_itself() -> None:
    verbs = {name: [d.does for d in roster_of(our_roles(), names)["team"].duty] for name, names in _TEAMS.items()}
    assert verbs == {
        "all": [Verb.ASK, Verb.SHOW],
        "engineer": [Verb.ALLOT],
        "architect": [],
        "no manager": [Verb.ASK, Verb.ALLOT],
    }


_TEAMS = {
    "all": list(our_roles()),
    "engineer": ["engineer"],
    "architect": ["architect"],
    "no manager": ["product_manager", "engineer"],
}


def test_a_repository_adds_a_role_with_one_file_and_one_prompt(tmp_path: Path) -> None:
    place = workspace(tmp_path, security__toml=WRITES_REVIEWS + 'publishes = ["review"]\n', security__md="Look.")
    found = find_roles(place)
    assert found is not None
    assert found.files == (".rolecall/roles/security.toml", ".rolecall/roles/security.md")
    assert found.roles["security"].title == "Security"


def test_a_repository_tunes_a_role_by_what_it_says_otherwise(tmp_path: Path) -> None:
    place = workspace(tmp_path, reviewer__toml='constraints = ["Mind the licence."]\nmodel = "careful"\n')
    found = find_roles(place)
    assert found is not None
    tuned, ours = found.roles["reviewer"], our_roles()["reviewer"]
    assert (tuned.model, tuned.duty, tuned.prompt) == ("careful", ours.duty, ours.prompt)
    assert tuned.system_prompt().endswith("- Mind the licence.\n")


def test_roles_of_a_repository_are_used_once_confirmed_and_as_long_as_they_stay_the_same(tmp_path: Path) -> None:
    store = open_store(tmp_path / "rolecall.db")
    place = workspace(tmp_path, security__toml=WRITES_REVIEWS + 'publishes = ["review"]\n', security__md="Look.")
    assert "security" not in known_roles(place, store)
    found = roles_to_confirm(place, store)
    assert found is not None
    confirm_roles(place, store, found)
    assert "security" in known_roles(place, store)
    assert roles_to_confirm(place, store) is None
    (place.root / ".rolecall/roles/security.md").write_text("Look away.")
    assert "security" not in known_roles(place, store)
    assert roles_to_confirm(place, store) is not None


def test_a_repository_without_roles_brings_none(tmp_path: Path) -> None:
    assert find_roles(workspace(tmp_path)) is None


@pytest.mark.parametrize(
    ("profile", "prompt", "says"),
    [
        ("title = ", "x", "no TOML"),
        (WRITES_REVIEWS + 'publishes = ["poem"]\n', "x", "nobody knows a document 'poem'"),
        (WRITES_REVIEWS + 'publishes = ["edits"]\n', "x", "it cannot write edits"),
        (WRITES_REVIEWS + 'publishes = ["review"]\n', "", "it has no prompt"),
        (WRITES_REVIEWS + 'publishes = ["review"]\nruns = "rm"\n', "x", "duty.0.runs"),
        (WRITES_REVIEWS.replace('"write"', '"shell"') + 'publishes = ["review"]\n', "x", "duty.0.does"),
        ('title = "x"\ngoal = "x"\n', "x", "duty: Field required"),
        (f"title = {'[' * 10_000}", "x", "nested too deeply"),
        (f"title = {'9' * 5_000}", "x", "no TOML"),
    ],
)
def test_what_is_no_role_is_refused_with_the_reason(tmp_path: Path, profile: str, prompt: str, says: str) -> None:
    files = {"odd__toml": profile, **({"odd__md": prompt} if prompt else {})}
    with pytest.raises(FileRefused) as refused:
        find_roles(workspace(tmp_path, **files))
    assert says in refused.value.what


def test_a_team_has_no_strangers_and_no_two_for_one_document(tmp_path: Path) -> None:
    with pytest.raises(FileRefused, match="There is no role barber"):
        roster_of(our_roles(), ["engineer", "barber"])
    twin = our_roles()["architect"].model_copy(update={"name": "twin"})
    with pytest.raises(FileRefused, match="architect and twin both publish the design"):
        roster_of({**our_roles(), "twin": twin}, ["architect", "twin"])
