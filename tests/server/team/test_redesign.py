"""One changed sentence in the requirements: what traces to it is designed anew, and nothing else is asked about."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rolecall_server.model import estimate_tokens
from rolecall_server.team.documents import Design, Kind, render
from rolecall_server.team.documents.design import DesignPart
from rolecall_server.team.engine.reworking import edit_document
from rolecall_server.team.messages.board import content_of
from rolecall_server.team.messages.rendering import document_in
from rolecall_server.team.sprint.redesign import merged, traced
from support.shop_team import BRIEF, REQUIREMENTS, shop_speeches
from support.team_model import Says, TeamModel, fenced
from support.team_run import TeamRun, team_run

TEAM = ["product_manager", "architect"]
APPROACH = (
    "`total` takes a keyword argument (R1).\n\nThe receipt of R2 is a new module.\n\nThe basket stays as it is (R3)."
)
WANTED: dict[str, Any] = {
    **REQUIREMENTS,
    "requirements": [
        *REQUIREMENTS["requirements"],
        {"id": "R3", "title": "carts too", "priority": "P2", "consequence": "checkout([1]) == 1"},
    ],
}
DESIGN: dict[str, Any] = {
    "title": "Taxes in the shop",
    "approach": APPROACH,
    "files_to_change": [
        {"path": "shop/price.py", "what": "total takes a tax"},
        {"path": "shop/cart.py", "what": "hands it on"},
    ],
    "files_to_add": [{"path": "shop/receipt.py", "what": "prints a receipt"}],
    "symbols_to_change": [{"symbol": "shop/price.py::total", "serves": ["R1"], "what": "takes a tax"}],
    "symbols_to_add": [{"symbol": "shop/receipt.py::receipt", "serves": ["R2"], "what": "the receipt as text"}],
    "risks": ["Somebody passes the tax by place."],
}
PART: dict[str, Any] = {
    "paragraphs": [{"number": 2, "text": "The receipt of R2 is a new module, in capitals."}],
    "symbols_to_add": [{"symbol": "shop/receipt.py::receipt", "serves": ["R2"], "what": "the receipt in capitals"}],
}
RECEIPTS = "".join(f"def receipt_total_{n}(items, tax):\n    return sum(items) + tax * {n}\n\n\n" for n in range(40))
CHANGED = ("receipt([1]) == 'total: 1'", "receipt([1]) == 'TOTAL: 1'")


async def redesigned(
    folder: Path, *replies: dict[str, Any], edits: tuple[str, str] = CHANGED
) -> tuple[TeamRun, TeamModel]:
    """A run whose requirements are edited once it has a design, and who was asked."""
    said: list[Says] = [fenced(one) for one in (DESIGN, *replies)]
    model = TeamModel(shop_speeches(Product_Manager=fenced(WANTED), Architect=said))
    run = team_run(folder, model).begin(BRIEF, TEAM)
    for number in range(20):
        (run.root / f"shop/receipt_{number}.py").write_text(RECEIPTS, "utf-8")
    await run.go_on()
    message = run.pool.latest(Kind.REQUIREMENTS)
    assert message is not None
    edit_document(run.store, run.run_id, "requirements", render(document_in(message)).replace(*edits))
    assert (await run.go_on()).errors == ()
    return run, model


def latest_design(run: TeamRun) -> Design:
    message = run.pool.latest(Kind.DESIGN)
    assert message is not None
    assert message.version == 2
    return content_of(message, Design)


async def test_a_changed_sentence_costs_what_traces_to_it(tmp_path: Path) -> None:
    run, model = await redesigned(tmp_path, PART)
    assert model.asked == ["Product Manager", "Architect", "Architect"]
    whole, part = (sum(estimate_tokens(one.text) for one in talk[1:]) for talk in model.conversations[1:])
    assert part < 1_200
    assert part < whole / 3
    told = model.conversations[2][1].text
    assert "It was: " in told
    assert "'TOTAL: 1'" in told
    assert "The receipt of R2 is a new module." in told
    assert "prints a receipt" in told
    for unconcerned in ("takes a keyword argument", "The basket stays", "takes a tax", "hands it on", "by place"):
        assert unconcerned not in told
    design = latest_design(run)
    assert design.approach == APPROACH.replace("new module", "new module, in capitals")
    assert design.symbols_to_add[0].what == "the receipt in capitals"
    before = Design.model_validate(DESIGN)
    for same in ("title", "files_to_change", "files_to_add", "symbols_to_change", "risks"):
        assert getattr(design, same) == getattr(before, same)


async def test_where_nothing_has_to_be_different_nobody_works_on(tmp_path: Path) -> None:
    run, model = await redesigned(tmp_path, {})
    assert model.asked.count("Architect") == 2
    message = run.pool.latest(Kind.DESIGN)
    assert message is not None
    assert message.version == 1, "so that nothing that rests on it is done again"


async def test_a_part_that_does_not_hold_has_the_whole_written(tmp_path: Path) -> None:
    lost = {"symbols_to_change": [{"symbol": "shop/price.py::no_such", "serves": ["R2"], "what": "is not there"}]}
    run, model = await redesigned(tmp_path, lost, {**DESIGN, "title": "All of it anew"})
    assert model.asked.count("Architect") == 3
    assert latest_design(run).title == "All of it anew"


@pytest.mark.parametrize(
    "edits", [("carts too", "carts as well"), ("total takes a tax", "a tax"), ("# Taxes", "# Levies")]
)
async def test_more_than_some_requirements_is_a_design_of_its_own(tmp_path: Path, edits: tuple[str, str]) -> None:
    """A change of one requirement of three is a part; one of the title concerns all of the document."""
    _, model = await redesigned(tmp_path, {**DESIGN, "title": "Again"}, edits=edits)
    asks_for_part = "Some requirements changed after you made the design." in model.conversations[2][1].text
    assert asks_for_part is (edits[0] != "# Taxes")


def test_a_part_is_what_serves_or_names_the_requirements() -> None:
    part = traced(Design.model_validate(DESIGN), {"R3"})
    assert [one.number for one in part.paragraphs] == [3]
    assert part.model_copy(update={"paragraphs": ()}) == DesignPart()
    assert traced(Design.model_validate(DESIGN), set()) == DesignPart()


def test_items_are_replaced_added_moved_and_taken_out() -> None:
    part = DesignPart.model_validate(
        {
            "paragraphs": [{"number": 1, "text": ""}, {"number": 9, "text": "And a file of rates."}],
            "files_to_add": [{"path": "shop/cart.py", "what": "made anew"}, {"path": "shop/rate.py", "what": "rates"}],
            "gone": ["shop/receipt.py", "shop/receipt.py::receipt"],
        }
    )
    design = merged(Design.model_validate(DESIGN), part)
    assert design.approach.split("\n\n") == [*APPROACH.split("\n\n")[1:], "And a file of rates."]
    assert [work.path for work in design.files_to_change] == ["shop/price.py"]
    assert [work.path for work in design.files_to_add] == ["shop/cart.py", "shop/rate.py"]
    assert design.symbols_to_add == ()
    assert merged(design, DesignPart()) == design
