"""Questions to the developer that any editor can ask: a sentence and a few answers to choose from."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Sequence

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from rolecall_server.lsp.server import RolecallServer, as_notice
from rolecall_server.lsp.untyped import fields_of

CONFIRM_REQUEST = "rolecall/confirm"
QUESTION_REQUEST = "rolecall/question"
_NUMBERS = itertools.count(1)


async def confirm(ls: RolecallServer, question: str, answers: Sequence[str]) -> str:
    """Ask *question* before doing what the developer has just asked for; return as `choose` does.

    An editor that draws the review asks in a dialog, which cannot be overlooked.
    """
    if not ls.session.client.review:
        return await choose(ls, question, answers, types.MessageType.Warning)
    try:
        reply = await ls.protocol.send_request_async(CONFIRM_REQUEST, {"question": question, "answers": list(answers)})
    except JsonRpcException:
        return ""
    answer = fields_of(reply).get("answer")
    return answer if isinstance(answer, str) and answer in answers else ""


async def choose(
    ls: RolecallServer, question: str, answers: Sequence[str], kind: types.MessageType = types.MessageType.Info
) -> str:
    """Ask *question* and return the one of *answers* that the developer chose; empty where nothing was chosen, or there
    is nobody to ask.
    """
    actions = [types.MessageActionItem(answer) for answer in answers]
    params = types.ShowMessageRequestParams(kind, as_notice(f"Rolecall: {question}"), actions)
    try:
        chosen = await ls.window_show_message_request_async(params)
    except JsonRpcException:
        return ""
    return chosen.title if chosen is not None else ""


async def ask_role_question(ls: RolecallServer, question: str, answers: Sequence[str]) -> str:
    """Ask what a role wants to know and return the answer, which may be the developer's own words; the first of
    *answers* is recommended. Empty where nobody answered.

    An editor that keeps questions is waited for; in any other the time in `rolecall.team.questionSeconds` passes.
    """
    if ls.session.client.questions:
        return await _kept(ls, question, answers)
    try:
        async with asyncio.timeout(ls.session.settings.team.question_seconds):
            return await choose(ls, f"{question} (recommended: {answers[0]})", answers)
    except TimeoutError:
        return ""


async def _kept(ls: RolecallServer, question: str, answers: Sequence[str]) -> str:
    """Have the editor keep a question until it is answered; take it back where nobody waits for the answer."""
    request_id = f"rolecall-question-{next(_NUMBERS)}"
    params = {"question": question, "answers": list(answers), "recommended": answers[0]}
    sent = ls.protocol.send_request(QUESTION_REQUEST, params, msg_id=request_id)
    try:
        said = fields_of(await asyncio.shield(asyncio.wrap_future(sent))).get("answer")
    except JsonRpcException:
        return ""
    except asyncio.CancelledError:
        ls.protocol.notify(types.CANCEL_REQUEST, types.CancelParams(request_id))
        raise
    return said.strip() if isinstance(said, str) else ""
