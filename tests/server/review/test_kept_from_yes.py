"""Which files wait for a person: by where they would lie, by what they would become, and all that is not plain."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from rolecall_server.review.guards.guarded_paths import guarded_paths, kept_from_yes
from rolecall_server.review.proposals.changes import changes_of
from rolecall_server.review.proposals.evidence import Evidence
from rolecall_server.review.proposals.proposal import Proposal
from rolecall_server.workspace import Workspace
from support.proposals import NO_RENAMES

THERE = {
    ".gitignore": "/generated/\n*_local.py\n",
    ".git/HEAD": "ref: refs/heads/main\n",
    "README.md": "# Shop\n",
    "shop/__init__.py": "",
    "shop/price.py": "price = 1\n",
    "scripts/build.sh": "#!/bin/sh\n",
    "settings.toml": "a = 1\n",
    "setup.py": "x = 1\n",
    "tools/pyvenv.cfg": "home = /usr\n",
    "tools/x.py": "x = 1\n",
    "conda/conda-meta/history": "x\n",
    "conda/y.py": "x = 1\n",
    "mirror/HEAD": "ref: refs/heads/main\n",
    "mirror/objects/info/packs": "x\n",
    "mirror/z.py": "x = 1\n",
    "generated/models.py": "x = 1\n",
    "shop/keys_local.py": "x = 1\n",
    "tests/test_price.py": "x = 1\n",
    "tests/data/prices.json": "[]\n",
    "web/app.ts": "let x = 1;\n",
    "web/page.css": "p {}\n",
}


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    for path, text in THERE.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    (tmp_path / "scripts/build.sh").chmod(0o755)
    return Workspace(tmp_path.resolve())


def proposal(workspace: Workspace, files: Mapping[str, str], renames: Mapping[str, str] = NO_RENAMES) -> Proposal:
    changes = changes_of(workspace, files, renames)
    return Proposal("p1", "r1", "Engineer", "a change", "", "", changes, Evidence(ran=False, reason="nobody ran them"))


def kept(workspace: Workspace, files: Mapping[str, str], renames: Mapping[str, str] = NO_RENAMES) -> set[str]:
    made = proposal(workspace, files, renames)
    return set(kept_from_yes(workspace, made, {hunk.id for _, hunk in made.hunks()}))


def guarded(workspace: Workspace, files: Mapping[str, str], renames: Mapping[str, str] = NO_RENAMES) -> dict[str, str]:
    made = proposal(workspace, files, renames)
    return guarded_paths(workspace, made, {hunk.id for _, hunk in made.hunks()})


def other_place(workspace: Workspace) -> Workspace:
    """Return the workspace where it is moved to: of each repository git is asked once where the user's rules are."""
    return Workspace(workspace.root.rename(workspace.root.with_name("moved")))


APART = {
    "tools/x.py": "an environment",
    "tools/lib/new.py": "an environment",
    "conda/y.py": "an environment",
    "mirror/z.py": "git reads it",
    "mirror/hooks/new.py": "git reads it",
    "generated/models.py": "git ignores it",
    "generated/deep/new.py": "git ignores it",
    "shop/keys_local.py": "git ignores it",
    "shop/new_local.py": "git ignores it",
}


@pytest.mark.parametrize("path", APART)
def test_what_lies_in_an_environment_a_repository_or_where_git_looks_away_is_guarded(
    workspace: Workspace, path: str
) -> None:
    assert APART[path] in guarded(workspace, {path: "y = 2\n"})[path]


def test_what_git_ignores_by_the_users_own_rules_is_guarded(
    workspace: Workspace, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert guarded(workspace, {"shop/mine.py": "y = 2\n"}) == {}
    rules = tmp_path_factory.mktemp("config") / "git" / "ignore"
    rules.parent.mkdir()
    rules.write_text("mine.py\n")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(rules.parent.parent))
    assert "git ignores it" in guarded(other_place(workspace), {"shop/mine.py": "y = 2\n"})["shop/mine.py"]


def test_the_same_folders_are_ordinary_without_what_marks_them(workspace: Workspace) -> None:
    for mark in ("tools/pyvenv.cfg", "conda/conda-meta/history", "mirror/HEAD", ".gitignore"):
        (workspace.root / mark).unlink()
    (workspace.root / "conda/conda-meta").rmdir()
    assert guarded(workspace, dict.fromkeys(APART, "y = 2\n")) == {}


def test_a_program_is_named_again_before_it_gets_another_name(workspace: Workspace) -> None:
    text = THERE["scripts/build.sh"]
    told = guarded(workspace, {"scripts/make.sh": text}, {"scripts/build.sh": "scripts/make.sh"})
    assert "run as a program" in told["scripts/make.sh"]
    told = guarded(workspace, {"venv/bin/python": text}, {"scripts/build.sh": "venv/bin/python"})
    assert "an environment" in told["venv/bin/python"]
    (workspace.root / "scripts/build.sh").chmod(0o644)
    assert guarded(workspace, {"scripts/make.sh": text}, {"scripts/build.sh": "scripts/make.sh"}) == {}


def test_a_file_that_became_a_program_after_it_was_proposed_counts_as_one(workspace: Workspace) -> None:
    (workspace.root / "scripts/build.sh").chmod(0o644)
    made = proposal(workspace, {"scripts/x.sh": THERE["scripts/build.sh"]}, {"scripts/build.sh": "scripts/x.sh"})
    (workspace.root / "scripts/build.sh").chmod(0o755)
    assert "scripts/x.sh" in guarded_paths(workspace, made, {hunk.id for _, hunk in made.hunks()})


def test_a_link_that_came_later_is_judged_by_where_it_leads(workspace: Workspace) -> None:
    made = proposal(workspace, {"shop/linked/new.py": "x = 1\n"})
    (workspace.root / "shop/linked").symlink_to(workspace.root / "tools")
    assert "an environment" in guarded_paths(workspace, made, {"h1"})["shop/linked/new.py"]


@pytest.mark.parametrize("path", ["json.py", "coverage.py", "src/random.py", "tests/json.py", "json/__init__.py"])
def test_a_new_module_that_hides_an_installed_one_is_guarded(workspace: Workspace, path: str) -> None:
    assert path in guarded(workspace, {path: "x = 1\n"})


def test_inside_a_package_such_a_name_hides_nothing(workspace: Workspace) -> None:
    (workspace.root / "types.py").write_text("x = 1\n")
    assert guarded(workspace, {"shop/json.py": "x = 1\n", "types.py": "x = 2\n"}) == {}


LET_THROUGH = (
    "shop/price.py",
    "shop/tax.py",
    "shop/deep/__init__.py",
    "shop/deep/rates.py",
    "shop/py.typed",
    "web/app.ts",
    "web/page.ts",
    "web/page.css",
    "web/more.css",
    "tests/test_price.py",
    "tests/test_tax.py",
    "newtests/test_tax.py",
    "tests/data/prices.json",
    "tests/data/more.csv",
    "README.md",
    "CHANGELOG.md",
    "docs/guide.md",
    "docs/notes.txt",
    "LICENSE",
    "more/__init__.py",
)


@pytest.mark.parametrize("path", LET_THROUGH)
def test_sources_tests_and_documentation_need_nobody(workspace: Workspace, path: str) -> None:
    assert kept(workspace, {path: "x = 2\n"}) == set()


KEPT = (
    "settings.toml",
    "new.toml",
    "main.py",
    "web/new.py",
    "shop/page.css",
    "shop/page.ts",
    "scripts/build.sh",
    "scripts/deploy.sh",
    "shop/data.json",
    "shop/secret.bin",
    "bin/tool",
    "tests/settings.yaml",
    "setup.py",
    "tests/conftest.py",
    "docs/conf.py",
    "requirements/dev.txt",
    "lefthook.yaml",
    "mise.toml",
    "flake.nix",
    "action.yml",
    "tasks.py",
    "pytest.py",
    "gradle/wrapper/gradle-wrapper.properties",
    "venv/lib/python3.12/site-packages/x.py",
    "x-1.0.dist-info/entry_points.txt",
)


@pytest.mark.parametrize("path", KEPT)
def test_everything_else_waits_for_a_person(workspace: Workspace, path: str) -> None:
    assert kept(workspace, {path: "x = 2\n"}) == {path}


def test_a_new_name_is_judged_as_a_new_file(workspace: Workspace) -> None:
    text = THERE["shop/price.py"]
    assert kept(workspace, {"shop/cost.py": text}, {"shop/price.py": "shop/cost.py"}) == set()
    assert kept(workspace, {"bin/cost": text}, {"shop/price.py": "bin/cost"}) == {"bin/cost"}


FIRST = ("todo.py", "src/todo/__init__.py", "src/todo/store.py", "web/app.ts", "web/page.css", "tests/test_todo.py")


@pytest.mark.parametrize("there", [{}, {"README.md": "# Todo\n", ".git/hooks/x.py": "x = 1\n"}])
def test_the_first_sources_of_a_repository_need_none_beside_them(tmp_path: Path, there: Mapping[str, str]) -> None:
    for path, text in there.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    bare = Workspace(tmp_path.resolve())
    assert kept(bare, dict.fromkeys(FIRST, "x = 2\n")) == set()


@pytest.mark.parametrize("path", [path for path in KEPT if path not in ("main.py", "web/new.py")])
def test_what_acts_on_its_own_waits_in_an_empty_repository_too(tmp_path: Path, path: str) -> None:
    is_source = path in ("shop/page.css", "shop/page.ts")
    assert kept(Workspace(tmp_path.resolve()), {path: "x = 2\n"}) == (set() if is_source else {path})


def test_one_source_is_enough_for_the_others_to_lie_beside_it(tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop/price.py").write_text("price = 1\n")
    assert kept(Workspace(tmp_path.resolve()), {"main.py": "x = 2\n"}) == {"main.py"}
