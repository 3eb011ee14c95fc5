"""A run of the Reviewer alone: its verdicts are stored, its calls are paid for once, secrets do not leave."""

from __future__ import annotations

from pathlib import Path

import pytest

from rolecall_analysis import Index
from rolecall_server.craft.code_review.candidates import ReviewScope
from rolecall_server.craft.code_review.judging import Judgement
from rolecall_server.errors import NotFound, ProviderUnavailable
from rolecall_server.model import Chosen
from rolecall_server.settings import Settings
from rolecall_server.store import Store
from rolecall_server.team.code_review.verdicts import judged_in, review_request
from rolecall_server.team.engine.scheduler import Ended, carry_out_run
from rolecall_server.team.messages.board import load_pool
from rolecall_server.team.plan.planning import begin_run, request_of
from rolecall_server.team.request import Repository
from rolecall_server.team.room import Developer
from rolecall_server.workspace import Workspace
from support.scripted_model import ScriptedModel
from support.stores import open_store
from support.workspaces import environment, write_workspace

KEY = "sk-proj-" + "a1B2c3D4" * 5
FILES = {
    "a.py": f"def add(name, names=[]):\n    token = '{KEY}'\n    names.append(name)\n    return names, token\n",
    "b.py": "def text_of(path):\n    return open(path).read()\n",
    "hidden.py": "def text_of(path):\n    return open(path).read()\n",
    ".rolecallignore": "hidden.py\n",
}
SCOPE = ReviewScope(("a.py", "b.py", "hidden.py"), reads=False)
FIRST = ["c1: real\nbecause: a second call sees the first name"] * 2


async def go_on(run_id: str, repository: Repository, model: ScriptedModel) -> Ended:
    return await carry_out_run(run_id, repository, Chosen(model, "the test"), Developer(lambda *_: None))


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    root = write_workspace(tmp_path / "work", FILES)
    store: Store = open_store(tmp_path / "rolecall.db")
    index = Index(root)
    index.scan()
    snapshot = index.snapshot()
    index.close()
    return Repository(Workspace(root), snapshot, store, Settings(), environment(tmp_path / "home"))


def begin(repository: Repository) -> str:
    return begin_run(repository.store, repository.workspace.root, review_request(SCOPE))


async def test_the_verdicts_of_a_run_are_stored_with_who_gave_them(repository: Repository) -> None:
    run_id = begin(repository)
    model = ScriptedModel([*FIRST, *["c2: not real\nbecause: a script that ends at once"] * 2])
    ended = await go_on(run_id, repository, model)
    assert (ended.state, ended.error) == ("finished", None)
    judged = judged_in(repository.store, run_id)
    assert judged.model == "a script"
    assert {name: verdict.judgement for name, verdict in judged.verdicts.items()} == {
        "c1": Judgement.REAL,
        "c2": Judgement.NOT_REAL,
    }
    (row,) = repository.store.runs(repository.workspace.root)
    assert (row.role, row.state) == ("reviewer", "finished")


async def test_no_secret_and_no_private_file_reaches_the_model(repository: Repository) -> None:
    run_id = begin(repository)
    model = ScriptedModel([*FIRST, *["c2: real\nbecause: x"] * 2])
    await go_on(run_id, repository, model)
    told = "\n".join(message.text for asked in model.asked for message in asked)
    assert KEY not in told
    assert "names.append(name)" in told
    assert "hidden.py" not in told
    assert judged_in(repository.store, run_id).kept_back == ("c3",)


async def test_a_run_that_was_cut_short_pays_no_call_twice(repository: Repository) -> None:
    run_id = begin(repository)
    cut = await go_on(run_id, repository, ScriptedModel([*FIRST, ProviderUnavailable("It is down.", "Wait.")]))
    assert isinstance(cut.error, ProviderUnavailable)
    with pytest.raises(NotFound):
        judged_in(repository.store, run_id)
    rest = ScriptedModel(["c2: real\nbecause: x"] * 2)
    ended = await go_on(run_id, repository, rest)
    assert ended.error is None
    assert len(rest.asked) == 2
    assert judged_in(repository.store, run_id).verdicts["c1"].judgement is Judgement.REAL


def test_what_a_run_reviews_is_kept_with_it(repository: Repository) -> None:
    request = request_of(load_pool(repository.store, begin(repository)))
    assert request is not None
    assert request.review == SCOPE
