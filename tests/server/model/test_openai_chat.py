"""Talking to an endpoint when all goes well, and when somebody changes their mind."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from rolecall_server.errors import ReplyMalformed, UnknownModel
from rolecall_server.model import ChatMessage, Parameters, Wishes
from rolecall_server.model.chat_completions.openai_chat import OpenAIChat
from rolecall_server.model.endpoint import Endpoint
from support.chat_server import (
    ChatServer,
    Script,
    Speech,
    fails,
    hangs,
    holds,
    never_hangs_up,
    says,
    says_unstreamed,
    sends_lines,
)
from support.patience import PATIENCE_S

CONVERSATION = (ChatMessage("system", "You test."), ChatMessage("user", "Test ünit 🧪."))

Connect = Callable[..., OpenAIChat]


@pytest.fixture
async def connect() -> AsyncIterator[Connect]:
    """Makes clients of a server, and closes them."""
    clients: list[OpenAIChat] = []

    def make(server: ChatServer, model: str = "scripted-model", timeout_s: float = PATIENCE_S) -> OpenAIChat:
        clients.append(OpenAIChat(Endpoint(server.base_url), model, timeout_s))
        return clients[-1]

    yield make
    for client in clients:
        await client.aclose()


async def ask(connect: Connect, script: Script) -> str:
    with ChatServer(script) as server:
        return (await connect(server).complete(CONVERSATION)).text


async def test_a_reply_comes_whole_with_the_model_and_its_token_counts(connect: Connect) -> None:
    with ChatServer(says("Here are the tests.", usage=(11, 4))) as server:
        reply = await connect(server).complete(CONVERSATION)
    assert (reply.text, reply.model) == ("Here are the tests.", "scripted-model")
    assert (reply.prompt_tokens, reply.completion_tokens) == (11, 4)


async def test_the_mean_log_probability_is_told_where_it_was_wished_for(connect: Connect) -> None:
    with ChatServer([says("Here.", logprobs=(-0.5, -1.5))] * 2) as server:
        client = connect(server)
        wished = await client.complete(CONVERSATION, Wishes(parameters=Parameters(logprobs=True)))
        plain = await client.complete(CONVERSATION)
    assert (wished.logprob, plain.logprob) == (-1.0, None)
    assert "logprobs" not in server.asked[1]


@pytest.mark.parametrize("status", [400, 403])
async def test_an_endpoint_that_keeps_its_log_probabilities_answers_without(connect: Connect, status: int) -> None:
    script = [fails(status, "You are not allowed to request logprobs from this model"), says("one"), says("two")]
    with ChatServer(script) as server:
        client, wishes = connect(server), Wishes(parameters=Parameters(logprobs=True))
        assert [(await client.complete(CONVERSATION, wishes)).text for _ in range(2)] == ["one", "two"]
    assert ["logprobs" in body for body in server.asked] == [True, False, False]


async def test_a_log_probability_that_can_be_none_is_passed_over(connect: Connect) -> None:
    with ChatServer(says("Here.", logprobs=(-1.0, 3.0, float("nan"), -9999.0))) as server:
        reply = await connect(server).complete(CONVERSATION, Wishes(parameters=Parameters(logprobs=True)))
    assert reply.logprob == -50.5


async def test_a_client_that_asks_nothing_reads_no_certificates(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "none.pem"))
    client = OpenAIChat(Endpoint("https://models.example/v1"), "some-model", 1.0)
    assert client.label == "some-model at https://models.example/v1"
    await client.aclose()
    asking = OpenAIChat(Endpoint("https://models.example/v1"), "some-model", 1.0)
    with pytest.raises(ReplyMalformed, match="FileNotFoundError"):
        await asking.complete(CONVERSATION)


async def test_where_none_is_shown_no_certificates_are_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "none.pem"))
    monkeypatch.setenv("NO_PROXY", "*")
    with ChatServer("ok") as server:
        # This machine under a name for which the variables count.
        elsewhere = Endpoint(server.base_url.replace("127.0.0.1", "0.0.0.0"))
        assert not elsewhere.is_local
        client = OpenAIChat(elsewhere, "some-model", 10.0)
        assert (await client.complete(CONVERSATION)).text == "ok"
        await client.aclose()


async def test_the_conversation_is_sent_as_it_is(connect: Connect) -> None:
    with ChatServer("ok") as server:
        await connect(server, model="some-model").complete(CONVERSATION)
    (body,) = server.asked
    assert body["model"] == "some-model"
    assert body["stream"] is True
    assert body["messages"] == [
        {"role": "system", "content": "You test."},
        {"role": "user", "content": "Test ünit 🧪."},
    ]


async def test_compression_is_not_asked_for_so_that_a_small_body_cannot_unfold_into_a_huge_one(
    connect: Connect,
) -> None:
    with ChatServer("ok") as server:
        await connect(server).complete(CONVERSATION)
    assert server.requests[0].headers["accept-encoding"] == "identity"


async def test_pieces_are_told_as_they_come(connect: Connect) -> None:
    second_half, pieces = threading.Event(), list[str]()

    def on_text(piece: str) -> None:
        pieces.append(piece)
        second_half.set()  # the server goes on only now

    with ChatServer(holds("first second", second_half)) as server:
        reply = await connect(server).complete(CONVERSATION, Wishes(on_text))
    assert pieces == ["first ", "second"]
    assert reply.text == "first second"


async def test_an_endpoint_that_does_not_count_tokens_is_no_problem(connect: Connect) -> None:
    with ChatServer(says("ok", usage=None)) as server:
        reply = await connect(server).complete(CONVERSATION)
    assert (reply.prompt_tokens, reply.completion_tokens) == (None, None)


@pytest.mark.parametrize("status", [400, 422])
async def test_an_endpoint_that_refuses_stream_options_is_asked_without_them_from_then_on(
    connect: Connect, status: int
) -> None:
    def script(body: Mapping[str, Any]) -> Speech:
        return fails(status, "Unknown field: stream_options") if "stream_options" in body else "ok"

    with ChatServer(script) as server:
        client = connect(server)
        assert [(await client.complete(CONVERSATION)).text for _ in range(2)] == ["ok", "ok"]
    assert ["stream_options" in body for body in server.asked] == [True, False, False]


async def test_an_endpoint_that_does_not_stream_is_understood(connect: Connect) -> None:
    assert await ask(connect, says_unstreamed("all at once")) == "all at once"


async def test_a_complete_reply_counts_although_the_endpoint_never_hangs_up(connect: Connect) -> None:
    with ChatServer(never_hangs_up("complete")) as server:
        async with asyncio.timeout(PATIENCE_S):
            reply = await connect(server).complete(CONVERSATION)
    assert reply.text == "complete"


async def test_the_halves_of_an_emoji_in_two_chunks_become_one(connect: Connect) -> None:
    halves = sends_lines(
        r'data: {"choices": [{"delta": {"content": "a \ud83d"}}]}',
        r'data: {"choices": [{"delta": {"content": "\ude00 b"}, "finish_reason": "stop"}]}',
    )
    assert await ask(connect, halves) == "a \N{GRINNING FACE} b"


async def test_half_an_emoji_is_replaced_so_that_the_reply_can_be_written(connect: Connect) -> None:
    half = sends_lines(r'data: {"choices": [{"delta": {"content": "a \ud83d b"}, "finish_reason": "stop"}]}')
    assert await ask(connect, half) == "a \N{REPLACEMENT CHARACTER} b"


async def test_chunks_without_choices_or_text_are_passed_over(connect: Connect) -> None:
    chunks = sends_lines(
        ": comment",
        'data: {"choices": []}',
        'data: {"choices": [{"delta": {"role": "assistant", "content": null, "reasoning_content": "hm"}}]}',
        'data: {"choices": [{"delta": {"content": "text"}, "finish_reason": ""}]}',
        'data: {"choices": [{"delta": null, "finish_reason": "stop"}]}',
    )
    assert await ask(connect, chunks) == "text"


async def test_what_may_pass_is_asked_again(connect: Connect) -> None:
    assert await ask(connect, [fails(503), fails(429), "third time"]) == "third time"


async def test_the_only_model_on_offer_is_taken_when_none_is_named(connect: Connect) -> None:
    with ChatServer("ok", models=["only-one"]) as server:
        client = connect(server, model="")
        await client.complete(CONVERSATION)
        await client.complete(CONVERSATION)
        assert client.label == f"only-one at {server.base_url}"
    assert [body["model"] for body in server.asked] == ["only-one", "only-one"]
    assert [request.path for request in server.requests].count("/v1/models") == 1


async def test_several_models_on_offer_are_named_up_to_ten(connect: Connect) -> None:
    told = r"13 models.*: m00, .*, m09 and 3 more.*ROLECALL_MODEL"
    with (
        ChatServer("ok", models=[f"m{number:02}" for number in range(13)]) as server,
        pytest.raises(UnknownModel, match=told),
    ):
        await connect(server, model="").complete(CONVERSATION)
    assert not server.asked


@pytest.mark.parametrize("models", [[], None], ids=["an empty list", "no list"])
async def test_no_model_on_offer_is_told_with_how_to_name_one(connect: Connect, models: list[str] | None) -> None:
    with ChatServer("ok", models=models) as server, pytest.raises(UnknownModel, match=r"lists none.*ROLECALL_MODEL"):
        await connect(server, model="").complete(CONVERSATION)


async def test_cancelling_in_the_middle_of_a_reply_closes_the_stream(connect: Connect) -> None:
    with ChatServer(holds("never to be finished", threading.Event())) as server:
        started = asyncio.Event()
        task = asyncio.create_task(connect(server).complete(CONVERSATION, Wishes(lambda _: started.set())))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.to_thread(server.disconnected.wait, 5)
    assert len(server.asked) == 1


async def test_cancelling_before_the_first_word_closes_the_connection(connect: Connect) -> None:
    with ChatServer(hangs()) as server:
        task = asyncio.create_task(connect(server).complete(CONVERSATION))
        await asyncio.to_thread(server.wait_until_asked)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.to_thread(server.disconnected.wait, 5)
    assert len(server.asked) == 1


async def test_an_error_of_the_listener_is_not_taken_for_the_endpoints(connect: Connect) -> None:
    def on_text(piece: str) -> None:
        raise LookupError(piece)

    with ChatServer(says("word", n_pieces=1)) as server, pytest.raises(LookupError, match="word"):
        await connect(server).complete(CONVERSATION, Wishes(on_text))


async def test_one_client_serves_several_calls_at_once(connect: Connect) -> None:
    def script(body: Mapping[str, Any]) -> str:
        return "re: " + body["messages"][0]["content"]

    with ChatServer(script) as server:
        client = connect(server)
        questions = [f"question {number}" for number in range(8)]
        replies = await asyncio.gather(*(client.complete([ChatMessage("user", text)]) for text in questions))
    assert [reply.text for reply in replies] == [f"re: {text}" for text in questions]


async def test_a_failed_call_does_not_spoil_the_next(connect: Connect) -> None:
    with ChatServer([sends_lines("data: {broken"), "well again"]) as server:
        client = connect(server)
        with pytest.raises(ReplyMalformed):
            await client.complete(CONVERSATION)
        assert (await client.complete(CONVERSATION)).text == "well again"
