"""Several answers to one question, for whoever can tell which is best."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from rolecall_server.errors import RolecallError
from rolecall_server.model.client import NO_WISHES, ChatMessage, ModelClient, Reply, Wishes


async def ask_several(
    client: ModelClient, messages: Sequence[ChatMessage], n_replies: int, wishes: Wishes = NO_WISHES
) -> tuple[Reply, ...]:
    """Up to *n_replies* different answers to *messages*, each from a call of its own; equal ones are given once.

    The calls share their prompt, which endpoints cache, and differ in their seed, where one is given. Calls rather
    than the option ``n``, which local servers ignore or refuse, and which no budget can stop halfway.

    Raises:
        RolecallError: no call brought an answer; the first one's error.
    """
    given = wishes.parameters
    seeds = [None if given.seed is None else given.seed + n for n in range(n_replies)]
    seeded = [replace(wishes, parameters=replace(given, seed=seed)) for seed in seeds]
    ended = await asyncio.gather(*(client.complete(messages, each) for each in seeded), return_exceptions=True)
    for each in ended:
        if isinstance(each, BaseException) and not isinstance(each, RolecallError):
            raise each
    replies = [each for each in ended if isinstance(each, Reply)]
    if not replies:
        raise next(each for each in ended if isinstance(each, RolecallError))
    return tuple({reply.text: reply for reply in replies}.values())
