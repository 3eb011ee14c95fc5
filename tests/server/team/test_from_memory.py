"""What a model uses from memory: noted where a lookup finds nothing, told to who works on it, and to the developer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rolecall_analysis import Index
from rolecall_server.model import NO_WISHES, ChatMessage, Chosen, Reply, ToolCall, Wishes
from rolecall_server.review.proposals.proposal import Proposal
from rolecall_server.review.proposals.proposal_store import load_proposal
from rolecall_server.settings import read_settings
from rolecall_server.team.request import Repository, RoleName, RunRequest
from rolecall_server.workspace import Workspace
from support.edits import block
from support.role_run import ask_role
from support.scripted_model import ScriptedModel
from support.shop_team import BRIEF, TAX, shop_speeches
from support.stores import open_store
from support.team_model import TeamModel, who_is_asked
from support.team_run import team_run
from support.workspaces import FILES, environment, write_workspace

PRICE, TEST = "shop/price.py", "tests/test_price.py"
NOTE = "Note: acme.rates.current: gives the rate as a float"
SAID = "acme.rates.current: gives the rate as a float"
GUARDED = block(
    PRICE,
    '"""Prices."""\n',
    '"""Prices."""\n\ntry:\n    from acme.rates import current\nexcept ImportError:\n    current = None\n',
)
UNGUARDED = block(PRICE, '"""Prices."""\n', '"""Prices."""\n\nfrom acme.rates import current\n')
ITS_TEST = block(TEST, "", "\n\ndef test_total_of_two():\n    assert total([1, 2]) == 3\n")


def looked_up(name: str = "acme.rates.current") -> Reply:
    call = ToolCall("c1", "documentation", f'{{"name": "{name}"}}')
    return Reply("I look it up.", "script-1", 100, 50, (call,))


async def proposed(
    folder: Path, *replies: str | Reply, role: RoleName = RoleName.ENGINEER
) -> tuple[Proposal, ScriptedModel]:
    root = write_workspace(folder / "work", FILES)
    index = Index(root)
    index.scan()
    settings, _ = read_settings({"team": {"repairs": 1, "doubt": False, "strategy": "standard"}}, {})
    at = Repository(
        Workspace(root), index.snapshot(), open_store(folder / "rolecall.db"), settings, environment(folder)
    )
    index.close()
    model = ScriptedModel(replies)
    finished = await ask_role(
        RunRequest(role, PRICE, "", "Use the current rate."), at, Chosen(model, "the test names it", takes_tools=True)
    )
    assert len(model.asked) == len(replies)
    return finished.proposal, model


async def test_what_no_lookup_finds_is_noted_and_the_developer_is_told_that_nothing_checked_it(tmp_path: Path) -> None:
    proposal, model = await proposed(tmp_path, looked_up(), f"I ask acme.\n{NOTE}\n\n{GUARDED}")
    answer = model.asked[1][-1].text
    assert answer.startswith("No installed package has acme.rates.current")
    assert "Note: package.module.name: what it takes and gives" in answer
    assert f"From memory, checked against nothing: {SAID}" in proposal.evidence.notes
    assert proposal.rationale == "I ask acme.", "the note stands in the evidence, as what it is"


async def test_a_repair_is_told_what_was_from_memory_and_what_refuted_it_stands_beside_it(tmp_path: Path) -> None:
    proposal, model = await proposed(tmp_path, looked_up(), f"{NOTE}\n\n{UNGUARDED}", f"I try more.\n\n{ITS_TEST}")
    complaint = model.asked[2][-1].text
    assert f"This was written from memory, and nothing has checked it; what is wrong may be wrong there:\n- {SAID}" in (
        complaint
    )
    told = [note for note in proposal.evidence.notes if note.startswith("From memory")]
    refuted = f"From memory, and refuted by what is installed: {SAID}."
    assert told == [f"{refuted} No module 'acme.rates' is installed for this workspace."]


async def test_what_is_given_up_again_is_told_nobody(tmp_path: Path) -> None:
    given_up = block(PRICE, "from acme.rates import current\n", "RATE = 0.1\n")
    proposal, _ = await proposed(tmp_path, looked_up(), f"{NOTE}\n\n{UNGUARDED}", given_up)
    assert not any("From memory" in note for note in proposal.evidence.notes)


async def test_who_was_not_asked_for_notes_writes_none(tmp_path: Path) -> None:
    proposal, model = await proposed(tmp_path, looked_up("json.dumps"), f"{NOTE}\n\n{GUARDED}")
    assert "Note:" not in model.asked[1][-1].text
    assert not any("From memory" in note for note in proposal.evidence.notes)
    assert NOTE in proposal.rationale


async def test_the_repositorys_own_names_are_no_matter_of_memory(tmp_path: Path) -> None:
    _, model = await proposed(tmp_path, looked_up("shop.price.total"), GUARDED)
    assert "Note:" not in model.asked[1][-1].text


async def test_who_writes_tests_notes_alike(tmp_path: Path) -> None:
    test = block(
        TEST,
        "from shop.price import total\n",
        "try:\n    from acme.rates import current\nexcept ImportError:\n    current = None\n\n"
        "from shop.price import discount, total\n",
    ) + block(TEST, "", "\n\ndef test_discount_takes_a_tenth():\n    assert current or discount(10) == 9\n")
    proposal, _ = await proposed(tmp_path, looked_up(), f"{NOTE}\n\n{test}", role=RoleName.QA_ENGINEER)
    assert f"From memory, checked against nothing: {SAID}" in proposal.evidence.notes


@dataclass
class Remembering(TeamModel):
    """A model that has the Engineer of the first task look something up, and go on from memory."""

    has_looked: bool = False

    async def complete(self, messages: Sequence[ChatMessage], wishes: Wishes = NO_WISHES) -> Reply:
        if who_is_asked(messages) == "Engineer T1" and not self.has_looked:
            self.has_looked = True
            return looked_up()
        return await super().complete(messages, wishes)


async def test_in_a_team_whoever_mends_the_change_is_told(tmp_path: Path) -> None:
    forgets_its_import = TAX.replace("sum(items) * (1 + tax)", "sum(items) * (1 + (tax or current()))")
    told = f"I ask acme.\n{NOTE}\n\n{forgets_its_import}"
    model = Remembering(shop_speeches(Engineer_T1=told, Engineer_repair="Finding: test_tax: it was left out."))
    await team_run(tmp_path, model, takes_tools=True).begin(BRIEF).go_on()
    assert f"nothing has checked it; what is wrong may be wrong there:\n- {SAID}" in model.told("Engineer repair")


async def test_in_a_team_the_reviewer_is_told_and_so_is_the_developer(tmp_path: Path) -> None:
    by_rate = "    from acme.rates import current\n\n    return sum(items) * (1 + (tax or current()))"
    uses_it = TAX.replace("    return sum(items) * (1 + tax)", by_rate)
    model = Remembering(shop_speeches(Engineer_T1=f"I ask acme.\n{NOTE}\n\n{uses_it}"))
    run = team_run(tmp_path, model, takes_tools=True).begin(BRIEF)
    ended = await run.go_on()
    assert ended.errors == ()
    assert f"nothing has checked it; what is wrong may be wrong there:\n- {SAID}" in model.told("Reviewer")
    proposal = load_proposal(run.store, ended.proposal_id).proposal
    assert f"From memory, checked against nothing: {SAID}" in proposal.evidence.notes
