"""A repository without code: it is said to be empty, what a brief names is made, `pytest` alone runs its tests."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolecall_analysis import Snapshot
from rolecall_server.craft.wanted_files import unmade_files, wanted_files
from rolecall_server.review.proposals.proposal_store import load_proposal
from rolecall_server.settings import Settings
from rolecall_server.team.messages.edits import Edits, SharedBench
from rolecall_server.team.request import Desk, Repository
from rolecall_server.team.roles.declarations import RunWay
from rolecall_server.team.run import open_bench
from rolecall_server.team.sprint.layout import settled_layout
from rolecall_server.workspace import Workspace
from support.edits import block
from support.shop_team import NO_FINDINGS, REQUIREMENTS
from support.stores import open_store
from support.team_model import TeamModel, fenced
from support.team_run import OFF, TeamRun
from support.workspaces import environment, write_workspace

BRIEF = "Make a shop: `shop/price.py` with total(), a README.md and a Makefile. It writes out.csv."
PRICE = "def total(items):\n    return sum(items)\n"
TEST = "from shop.price import total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n"


# The files that a brief names


@pytest.mark.parametrize(
    ("brief", "files"),
    [
        (BRIEF, ["shop/price.py", "README.md", "Makefile"]),
        ("See https://example.org/a/setup.py and e.g. version 1.2 of node, i.e. os.path.", []),
        ("├── shop/\n│   ├── price.py\n│   └── cart.py", ["price.py", "cart.py"]),
        ("It reads settings.json, and ships `data/rates.json`.", ["data/rates.json"]),
        ("Tests match tests/*.py and ~/.x.toml, /etc/y.toml stay as they are.", []),
        ("Under the LICENSE, with pyproject.toml.", ["LICENSE", "pyproject.toml"]),
        ("price.py, price.py and src/main.rs", ["price.py", "src/main.rs"]),
    ],
)
def test_a_brief_wants_the_sources_and_pages_that_it_names(brief: str, files: list[str]) -> None:
    assert list(wanted_files(brief)) == files


@pytest.mark.parametrize(
    ("made", "said", "unmade"),
    [
        (["shop/price.py", "README.md", "Makefile"], "", []),
        (["src/shop/price.py", "README.md", "Makefile"], "", []),
        (["shop/price.py", "README.rst"], "", ["README.md", "Makefile"]),
        (["shop/price.py", "README.md"], "- `No file: Makefile: it was a way of speaking`", []),
        (["workshop/price.py"], "No file: README.md: no\nNo file: Makefile: no", ["shop/price.py"]),
    ],
)
def test_what_is_made_in_whatever_folder_is_not_missing(made: list[str], said: str, unmade: list[str]) -> None:
    assert list(unmade_files(BRIEF, said, made, lambda path: False)) == unmade


@given(st.text(max_size=300) | st.lists(st.sampled_from(("a/", ".py", "://", "README", " ", "."))).map("".join))
def test_every_brief_can_be_read(brief: str) -> None:
    assert set(unmade_files(brief, brief, [], lambda path: False)) <= set(wanted_files(brief))


# What the roles are told


def empty_run(folder: Path, **speeches: object) -> tuple[TeamRun, TeamModel]:
    """A run in the middle way, in a folder that holds a licence alone."""
    root = write_workspace(folder / "work", {"LICENSE": "MIT\n"})
    said = {"Product Manager": fenced(REQUIREMENTS), "QA Engineer": "No change: nothing.", **speeches}
    model = TeamModel({"Reviewer": fenced(NO_FINDINGS), **said})  # type: ignore[arg-type]
    return TeamRun(root, open_store(folder / "rolecall.db"), model).begin(BRIEF, way=RunWay.MIDDLE), model


async def test_an_empty_repository_is_said_to_be_empty_and_what_is_missing_is_asked_for(tmp_path: Path) -> None:
    price, readme = block("shop/price.py", "", PRICE), block("README.md", "", "# Shop\n")
    make = block("Makefile", "", "test:\n\tpytest\n")
    run, model = empty_run(tmp_path, Engineer=f"{price}\n{readme}", **{"Engineer repair": make})
    ended = await run.go_on()
    for who in ("Product Manager", "Engineer", "QA Engineer"):
        assert "There is no code in it yet; it holds LICENSE." in model.told(who)
    assert "names these files: shop/price.py, README.md, Makefile." in model.told("Engineer")
    assert "The brief names Makefile, and nobody has made it." in model.told("Engineer repair")
    proposal = load_proposal(run.store, ended.proposal_id).proposal
    assert {file.path for file in proposal.files} == {"shop/price.py", "README.md", "Makefile"}
    assert not any("nobody has made it" in note for note in proposal.evidence.notes)


async def test_what_is_missing_all_the_same_is_told_beside_the_proposal(tmp_path: Path) -> None:
    price = block("shop/price.py", "", PRICE)
    run, _ = empty_run(tmp_path, Engineer=price, **{"Engineer repair": "Finding: there is no more to say."})
    ended = await run.go_on()
    notes = load_proposal(run.store, ended.proposal_id).proposal.evidence.notes
    assert sum("nobody has made it" in note for note in notes) == 2


# Typing `pytest`


@asynccontextmanager
async def desk_of_nothing(folder: Path, files: Mapping[str, str]) -> AsyncIterator[Desk]:
    workspace = Workspace(write_workspace(folder / "work", {"LICENSE": "MIT\n", **files}))
    store = open_store(folder / "rolecall.db")
    repository = Repository(workspace, Snapshot(), store, Settings(), environment(folder / "home"))
    async with open_bench(repository, lambda *_: None) as bench:
        yield Desk(workspace, Snapshot(), repository.settings, None, bench, lambda *_: None)


@pytest.mark.parametrize("root", [".", "src"])
@pytest.mark.parametrize(
    "pyproject", [None, '[project]\nname = "shop"\n', '[tool.pytest.ini_options]\naddopts = "-q"\n']
)
async def test_pytest_is_told_where_the_package_lies_that_it_does_not_find(
    tmp_path: Path, root: str, pyproject: str | None
) -> None:
    folder = "" if root == "." else f"{root}/"
    files = {f"{folder}shop/__init__.py": "", f"{folder}shop/price.py": PRICE, "tests/test_price.py": TEST}
    edits = Edits(files=files | ({"pyproject.toml": pyproject} if pyproject else {}), tasks={"x": ("T1",)})
    async with desk_of_nothing(tmp_path, {}) as desk:
        settled, lacks = await settled_layout(desk, edits, "")
        assert lacks == ()
        assert f'pythonpath = ["{root}"]' in (settled.files["pyproject.toml"] or "")
        assert all(line in (settled.files["pyproject.toml"] or "") for line in (pyproject or "").splitlines())
        assert "pyproject.toml tells pytest where the packages are" in settled.rationale
        assert (settled.tasks["pyproject.toml"], settled.bases["pyproject.toml"]) == (("T1",), "")
        assert await settled_layout(desk, settled, "") == (settled, ()), "and then it finds it"


async def test_what_no_such_setting_mends_goes_back_with_what_pytest_says(tmp_path: Path) -> None:
    edits = Edits(files={"tests/test_a.py": "import no_such_thing\n", "pyproject.toml": '[project]\nname = "a"\n'})
    async with desk_of_nothing(tmp_path, {}) as desk:
        settled, lacks = await settled_layout(desk, edits, "")
    assert settled == edits
    (point,) = lacks
    assert point.startswith("- `pytest`, typed at the root of the repository, cannot collect the tests")
    assert "No module named 'no_such_thing'" in point


async def test_where_nothing_runs_or_there_is_code_the_layout_is_left_alone(tmp_path: Path) -> None:
    workspace = Workspace(write_workspace(tmp_path / "work", {"LICENSE": "MIT\n"}))
    desk = Desk(workspace, Snapshot(), Settings(), None, SharedBench(OFF, OFF, 1.0), lambda *_: None)
    edits = Edits(files={"src/shop/price.py": PRICE, "tests/test_price.py": TEST})
    assert await settled_layout(desk, edits, "") == (edits, ())
    assert await settled_layout(desk, edits, "with a.py") == (edits, _points(["a.py"]))
    assert await settled_layout(desk, Edits(), "with a.py") == (Edits(), ())


def _points(paths: Collection[str]) -> tuple[str, ...]:
    return tuple(
        f"- The brief names {path}, and nobody has made it. Make it; or, where it is no file of the repository, "
        f"say so in a line `No file: {path}: why`."
        for path in paths
    )
