"""Before a brief is carried out: solutions of it are run, and the developer is asked where they differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from inline_snapshot import external_file

from rolecall_analysis import Index
from rolecall_server.errors import ReplyMalformed
from rolecall_server.model import Chosen
from rolecall_server.review.proposals.proposal_store import load_proposal
from rolecall_server.settings import Settings, read_settings
from rolecall_server.store.messages import MessageRow
from rolecall_server.team.documents import Question
from rolecall_server.team.engine.scheduler import Ended, carry_out_run
from rolecall_server.team.messages.board import as_draft, body_of, load_pool, publish
from rolecall_server.team.messages.rendering import describe_message, settled_by, tell
from rolecall_server.team.plan.planning import begin_run, plan_for, planned_roster
from rolecall_server.team.request import FailureToMend, Repository, RoleName, RunRequest, request_for_failure
from rolecall_server.team.roles.declarations import RunWay, Verb, our_roles
from rolecall_server.team.room import Developer
from rolecall_server.team.sprint import doubting
from rolecall_server.workspace import Workspace
from support.edits import block
from support.fixture import parse_fixture
from support.scripted_model import ScriptedModel
from support.shop_team import BRIEF, RECEIPT, TAX, shop_speeches
from support.stores import open_store
from support.team_model import TeamModel
from support.team_run import team_run
from support.workspaces import environment, write_workspace

SHOP = parse_fixture('''
    #- shop/__init__.py
    #- shop/names.py
    def slug(text: str) -> str:
        """A short name.

        >>> slug("Red wine")
        'red-wine'
        """
        return text.lower().replace(" ", "-")
    #- tests/test_names.py
    from shop.names import slug


    def test_slug():
        assert slug("Red wine") == "red-wine"
''')
PATH = "shop/names.py"
WISH = "Let slug take limit: the result is no longer than so many characters."
HEAD = "def slug(text: str) -> str:\n"
BODY = '    return text.lower().replace(" ", "-")\n'


def solution(body: str, head: str = "def slug(text: str, limit: int = 80) -> str:\n") -> str:
    return f"{block(PATH, HEAD, head)}\n{block(PATH, BODY, body)}"


CUT_BODY = '    return text.lower().replace(" ", "-")[:limit]\n'
WHOLE_BODY = (
    '    name = text.lower().replace(" ", "-")\n'
    '    return name if len(name) <= limit else name[: limit + 1].rpartition("-")[0]\n'
)
CUT, WHOLE = solution(CUT_BODY), solution(WHOLE_BODY)
ALSO_CUT = solution('    return text.lower()[:limit].replace(" ", "-")\n')
TWO = (
    f'## Solution 1: words are cut\nCall: slug("Red wine", limit=5)\n\n{CUT}\n\n'
    f"## Solution 2: only whole words\n\n{WHOLE}"
)
SAME = f"## Solution 1: cut\n\n{CUT}\n\n## Solution 2: cut first\n\n{ALSO_CUT}"
ONE = f"## Solution 1: cut\n\n{CUT}"


@dataclass
class Asked:
    """A developer who chooses the option with that number, from 0, or says words; ``None``: says nothing."""

    says: int | str | None = None
    questions: list[Question] = field(default_factory=list[Question])

    async def ask(self, questions: Sequence[Question]) -> Mapping[str, str]:
        self.questions += questions
        if self.says is None:
            return {}
        (question,) = questions
        return {question.id: self.says if isinstance(self.says, str) else question.options[self.says]}


def repository(folder: Path, *, doubts: bool = True, **tests: object) -> Repository:
    root = write_workspace(folder / "work", dict(SHOP.files))
    index = Index(root)
    index.scan()
    snapshot = index.snapshot()
    index.close()
    options = {"team": {"doubt": doubts}, "tests": {"timeoutSeconds": 60, **tests}}
    settings, problems = read_settings(options, {})
    assert not problems
    return Repository(Workspace(root), snapshot, open_store(folder / "rolecall.db"), settings, environment(folder))


async def implemented(at: Repository, model: ScriptedModel, asked: Asked, request: RunRequest | None = None) -> Ended:
    run_id = begin_run(at.store, at.workspace.root, request or RunRequest(path=PATH, brief=WISH))
    developer = Developer(lambda *_: None, asked.ask)
    return await carry_out_run(run_id, at, Chosen(model, "the test names it"), developer)


def doubt_in(at: Repository) -> MessageRow:
    message = load_pool(at.store, "r1").latest("doubt")
    assert message is not None
    return message


async def test_a_question_shows_the_input_and_its_answer_is_told_as_an_example_that_must_hold(
    tmp_path: Path,
) -> None:
    model, asked, at = ScriptedModel([TWO, WHOLE]), Asked(1), repository(tmp_path)
    ended = await implemented(at, model, asked)
    assert (ended.state, ended.errors) == ("finished", ())
    (question,) = asked.questions
    assert question.title == "The brief leaves open what `slug('Red wine', limit=5)` shall do. Which do you want?"
    assert question.options == ("`'red-w'` (words are cut)", "`'red'` (only whole words)")
    assert question.recommended == question.options[0]
    assert model.last_words[1].endswith(
        f"{WISH}\n\nThe brief leaves open what `slug('Red wine', limit=5)` shall do. "
        "The developer was asked, and wants this:\n\n- `slug('Red wine', limit=5)`: `'red'`\n  (only whole words)\n\n"
        "It must hold, a test must show it, and what is like it must be handled alike."
    )


async def test_an_attempt_that_ends_otherwise_than_the_example_comes_back_to_the_engineer(tmp_path: Path) -> None:
    instead = block(PATH, CUT_BODY, WHOLE_BODY)
    model, at = ScriptedModel([TWO, CUT, instead]), repository(tmp_path)
    ended = await implemented(at, model, Asked(1))
    assert (ended.state, ended.errors) == ("finished", ())
    assert "### the example that was chosen: `slug('Red wine', limit=5)`" in model.last_words[2]
    assert "expected: `'red'`; came: `'red-w'`" in model.last_words[2]
    proposal = load_proposal(at.store, ended.proposal_id).proposal
    assert "rpartition" in str(proposal.files[0].hunks)
    assert (proposal.evidence.repairs, proposal.evidence.failures) == (1, ())


async def test_what_is_proposed_in_spite_of_the_example_says_so(tmp_path: Path) -> None:
    at = repository(tmp_path)
    ended = await implemented(at, ScriptedModel([TWO, CUT, "I leave it.", "I leave it."]), Asked(1))
    (failure,) = load_proposal(at.store, ended.proposal_id).proposal.evidence.failures
    assert failure.test_id == "the example that was chosen: `slug('Red wine', limit=5)`"


async def test_what_was_asked_and_answered_is_a_message_of_the_run(tmp_path: Path) -> None:
    at, asked = repository(tmp_path), Asked("no longer than that, and no dash at its end")
    await implemented(at, ScriptedModel([TWO, CUT]), asked)
    message = doubt_in(at)
    assert "no dash at its end" in describe_message(message)
    assert settled_by([message]).endswith("and answered: no longer than that, and no dash at its end")
    assert body_of(message)["options"] == [*asked.questions[0].options]


async def test_silence_takes_the_likeliest(tmp_path: Path) -> None:
    at = repository(tmp_path)
    await implemented(at, ScriptedModel([TWO, CUT]), Asked(None))
    assert "did not answer, so the likeliest holds" in settled_by([doubt_in(at)])
    assert "Nobody answered, so the likeliest holds: " in body_of(doubt_in(at))["said"]


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (SAME, "2 solutions of the brief do the same wherever they were tried."),
        (ONE, "One solution of the brief was given that could be used."),
        ("The brief is clear.", "No solution of the brief was given that could be used."),
        (
            f"{ONE}\n\n## Solution 2: another name\n\n{solution(BODY, 'def short(text: str) -> str:' + chr(10))}",
            "Solutions of the brief have nothing in common that could be called.",
        ),
    ],
)
async def test_where_nothing_differs_a_line_says_so_and_nobody_is_asked(tmp_path: Path, reply: str, why: str) -> None:
    at, asked, model = repository(tmp_path), Asked(0), ScriptedModel([reply, CUT])
    ended = await implemented(at, model, asked)
    assert ended.state == "finished"
    assert body_of(doubt_in(at)) == {"said": f"{why} Nothing is asked.", "told": ""}
    assert asked.questions == []
    assert "leaves open what" not in model.last_words[1]


async def test_solutions_that_hang_are_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doubting, "MOST_COMPARING_S", 1.0)
    at, hangs = repository(tmp_path), solution("    while True:\n        pass\n")
    reply = f"## Solution 1: a\n\n{hangs}\n\n## Solution 2: b\n\n{WHOLE}"
    ended = await implemented(at, ScriptedModel([reply, CUT]), Asked(0))
    assert ended.state == "finished"
    assert "cannot be run here: they took longer than 1 s." in body_of(doubt_in(at))["said"]


async def test_a_reply_that_breaks_off_stops_nothing(tmp_path: Path) -> None:
    at = repository(tmp_path)
    ended = await implemented(at, ScriptedModel([ReplyMalformed("It broke off."), CUT]), Asked(0))
    assert ended.state == "finished"
    assert body_of(doubt_in(at))["said"].endswith("that could be used: It broke off. Nothing is asked.")


async def test_where_nothing_may_run_no_solution_is_asked_for(tmp_path: Path) -> None:
    at, asked = repository(tmp_path, run=False), Asked(0)
    await implemented(at, ScriptedModel([CUT]), asked)
    assert body_of(doubt_in(at))["said"] == (
        "Solutions of the brief cannot be run here: rolecall.tests.run is off. Nothing is asked."
    )


async def test_without_walls_no_solution_is_run(tmp_path: Path) -> None:
    at = repository(tmp_path, confinement="off")
    await implemented(at, ScriptedModel([CUT]), Asked(0))
    assert "Solutions of the brief cannot be run here: Snippets run behind walls only" in body_of(doubt_in(at))["said"]


async def test_a_solution_stays_behind_the_walls_and_out_of_the_workspace(tmp_path: Path) -> None:
    at, outside = repository(tmp_path), tmp_path / "outside.txt"
    writes = f'    open("{outside}", "w").write("x")\n    open("{PATH}", "w").write("x")\n{BODY}'
    bad = TWO.replace('    name = text.lower().replace(" ", "-")\n', writes.replace("    return", "    name ="))
    await implemented(at, ScriptedModel([bad, CUT]), Asked(0))
    assert not outside.exists()
    assert (at.workspace.root / PATH).read_text() == SHOP.files[PATH]


async def test_a_run_that_is_taken_up_again_asks_neither_model_nor_developer_anew(tmp_path: Path) -> None:
    at, asked, model = repository(tmp_path), Asked(1), ScriptedModel([TWO, WHOLE])
    await implemented(at, model, asked)
    developer = Developer(lambda *_: None, asked.ask)
    await carry_out_run("r1", at, Chosen(model, "the test names it"), developer)
    assert (len(model.asked), len(asked.questions)) == (2, 1)


async def test_it_is_off_unless_somebody_switches_it_on(tmp_path: Path) -> None:
    at, asked, model = repository(tmp_path, doubts=Settings().team.doubt), Asked(0), ScriptedModel([CUT])
    await implemented(at, model, asked)
    assert load_pool(at.store, "r1").latest("doubt") is None
    assert len(model.asked) == 1


@pytest.mark.parametrize(
    "request_",
    [request_for_failure(FailureToMend(("tests/test_names.py::test_slug",))), RunRequest(RoleName.QA_ENGINEER, PATH)],
)
def test_a_repair_and_tests_are_not_doubted(tmp_path: Path, request_: RunRequest) -> None:
    at = repository(tmp_path)
    pool = load_pool(at.store, begin_run(at.store, at.workspace.root, request_))
    (role,) = planned_roster(pool, {}, doubts=True).values()
    assert [duty.does for duty in role.duty] == [Verb.ALONE]


def test_a_brief_of_more_than_one_sprint_is_not_doubted(tmp_path: Path) -> None:
    at = repository(tmp_path)

    def verbs(way: RunWay) -> set[Verb]:
        plan = plan_for(WISH, our_roles(), at.settings, way=way)
        run_id = begin_run(at.store, at.workspace.root, RunRequest(brief=WISH), plan)
        roster = planned_roster(load_pool(at.store, run_id), our_roles(), doubts=True)
        return {duty.does for role in roster.values() for duty in role.duty}

    assert Verb.DOUBT in verbs(RunWay.ENGINEER) & verbs(RunWay.MIDDLE)
    assert Verb.DOUBT not in verbs(RunWay.TEAM)


def test_the_plan_says_that_solutions_are_compared_and_reckons_with_the_call_for_them(tmp_path: Path) -> None:
    settings = repository(tmp_path).settings
    without, asking = plan_for(WISH, our_roles(), Settings()), plan_for(WISH, our_roles(), settings)
    assert asking.estimate.calls == without.estimate.calls + 1
    assert asking.why.startswith(f"{without.why} First short solutions of it are compared, and you are asked where")
    assert "solutions" not in plan_for(WISH, our_roles(), settings, way=RunWay.TEAM).why


async def test_in_the_middle_way_the_product_manager_reads_what_is_settled_before_its_own_questions(
    tmp_path: Path,
) -> None:
    model = TeamModel(shop_speeches(Engineer=["The brief is clear.", f"Both.\n\n{TAX}\n{RECEIPT}"]))
    settings = Settings(team=Settings().team.model_copy(update={"doubt": True}))
    run = team_run(tmp_path, model, settings=settings).begin(BRIEF, way=RunWay.MIDDLE)
    ended = await run.go_on()
    assert ended.errors == ()
    kinds = [message.kind for message in run.messages]
    assert kinds.index("doubt") < kinds.index("requirements") < kinds.index("edits")
    read = {message.kind for message in run.pool.messages if "product_manager" in run.pool.readers.get(message.id, ())}
    assert {"brief", "doubt"} <= read


@pytest.mark.parametrize(("told", "read"), [("Red.", "# What is settled\n\nRed.\n"), ("", "")])
def test_a_role_of_the_middle_way_reads_what_is_settled_and_nothing_where_nothing_was_asked(
    tmp_path: Path, told: str, read: str
) -> None:
    at = repository(tmp_path)
    run_id = begin_run(at.store, at.workspace.root, RunRequest(brief=WISH))
    publish(at.store, run_id, "engineer", as_draft("doubt", {"said": "Which? Red.", "told": told}))
    message = load_pool(at.store, run_id).latest("doubt")
    assert message is not None
    assert tell([message], at.workspace) == read


async def test_all_that_is_asked_for_solutions(tmp_path: Path) -> None:
    model = ScriptedModel(["The brief is clear.", CUT])
    await implemented(repository(tmp_path), model, Asked(0))
    said = "\n\n=====\n\n".join(message.text for message in model.asked[0])
    assert said + "\n" == external_file("prompts/solutions.txt")
