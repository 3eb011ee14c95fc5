"""Everything that goes wrong at an endpoint ends as one typed error that says what to do next."""

from __future__ import annotations

import asyncio
import gzip
import json
import re
import socket
import ssl
import subprocess
import traceback
import tracemalloc
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import httpx2
import openai
import pytest
from hypothesis import given, settings
from hypothesis.strategies import (
    SearchStrategy,
    booleans,
    dictionaries,
    integers,
    lists,
    none,
    recursive,
    sampled_from,
    text,
)

from rolecall_server.errors import (
    ConnectionFailed,
    ContextOverflow,
    DeadlinePassed,
    KeyRefused,
    ProviderUnavailable,
    RateLimited,
    ReplyCut,
    ReplyMalformed,
    ReplyRefused,
    ReplyRepeats,
    RequestRefused,
    RolecallError,
    UnknownModel,
)
from rolecall_server.model import ChatMessage, Reply
from rolecall_server.model.chat_completions.complaints import explain_complaint, read_complaint
from rolecall_server.model.chat_completions.failures import explain
from rolecall_server.model.chat_completions.openai_chat import OpenAIChat
from rolecall_server.model.endpoint import Asked, Endpoint
from support.chat_server import (
    ChatServer,
    Turn,
    breaks_off,
    calls_tools,
    ends_without_finish,
    fails,
    floods,
    floods_one_line,
    hangs,
    pings,
    repeats,
    says,
    sends_body,
    sends_bytes,
    sends_lines,
    stalls_after,
)
from support.patience import PATIENCE_S


def objects(values: SearchStrategy[object]) -> SearchStrategy[object]:
    """JSON objects that look much like chunks."""
    names = ["choices", "delta", "message", "content", "finish_reason", "error", "usage", "prompt_tokens", "code"]
    return dictionaries(sampled_from(names), values)


KEY = "sk-secret-0123456789"
ASKED = Asked(Endpoint("http://localhost:8080/v1"), "m", 5)
QUESTION = (ChatMessage("user", "Well?"),)


async def failure_of(endpoint: Endpoint, timeout_s: float = PATIENCE_S) -> RolecallError:
    """The error that asking *endpoint* ends in."""
    client = OpenAIChat(endpoint, "scripted-model", timeout_s)
    try:
        with pytest.raises(RolecallError) as caught:
            await client.complete(QUESTION)
        return caught.value
    finally:
        await client.aclose()


@dataclass(frozen=True)
class Fault:
    """What the endpoint does, and what comes of it."""

    turn: Turn
    error: type[RolecallError]
    tells: str
    """A pattern in the whole text."""
    n_calls: int = 1
    timeout_s: float = PATIENCE_S
    """Far more than a fault takes, but for those that only a deadline ends."""

    @property
    def name(self) -> str:
        return re.sub(r"\W+", "-", f"{self.turn.name} {self.error.__name__} {self.tells}")


LENGTH_CUT = says("half an ans", finish_reason="length")
FILTERED = says("I will n", finish_reason="content_filter")
REFUSED = sends_lines(
    'data: {"choices": [{"delta": {"refusal": "I cannot help"}}]}',
    'data: {"choices": [{"delta": {}, "finish_reason": "stop"}]}',
)
ERROR_IN_STREAM = sends_lines(
    'data: {"choices": [{"delta": {"content": "so far"}}]}',
    'data: {"error": {"message": "out of memory", "code": 500}}',
)

BOMB = gzip.compress(bytes(100_000_000))

FAULTS = [
    # refused
    Fault(fails(401, "wrong key"), KeyRefused, "refused the API key.*wrong key.*OPENAI_API_KEY"),
    Fault(fails(403, "not yours"), KeyRefused, "not yours"),
    Fault(fails(400, "API key not valid."), KeyRefused, "OPENAI_API_KEY"),
    Fault(fails(404, "no such thing"), UnknownModel, "no such thing.*ROLECALL_MODEL"),
    Fault(fails(400, "x is not a valid model ID"), UnknownModel, "not a valid model"),
    Fault(fails(400, "gone", "model_not_found"), UnknownModel, "gone"),
    Fault(fails(400, "at most 4096 tokens", "context_length_exceeded"), ContextOverflow, "4096.*contextTokens"),
    Fault(fails(413, "large"), ContextOverflow, "too long.*contextTokens"),
    Fault(fails(422, "temperature is odd"), RequestRefused, "temperature is odd"),
    Fault(fails(400, "not that", "content_filter"), ReplyRefused, "not that"),
    # not now
    Fault(fails(429, "slow down"), RateLimited, "slow down.*in a minute", n_calls=3),
    Fault(fails(429, "later", headers={"retry-after": "300", "retry-after-ms": "300000"}), RateLimited, r"after \d\d"),
    Fault(fails(429, "pay first", "insufficient_quota"), RateLimited, "pay first.*Waiting does not help"),
    Fault(fails(402, "Insufficient Balance"), RateLimited, "Insufficient Balance.*billing"),
    Fault(fails(408), ProviderUnavailable, "408", n_calls=3),
    Fault(fails(409), ProviderUnavailable, "409", n_calls=3),
    Fault(fails(500, "oops"), ProviderUnavailable, "500.*oops", n_calls=3),
    Fault(sends_body("<html>Bad Gateway", status=502, content_type="text/html"), ProviderUnavailable, "web page", 3),
    Fault(fails(503, "Loading model"), ProviderUnavailable, "Loading model", n_calls=3),
    # late
    Fault(hangs(), DeadlinePassed, "within 1 s.*timeoutSeconds", timeout_s=1.0),
    Fault(stalls_after("hal"), DeadlinePassed, "within 1 s", timeout_s=1.0),
    Fault(pings(), DeadlinePassed, "within 1 s", timeout_s=1.0),
    Fault(says("slow", n_pieces=4, pause_s=0.5), DeadlinePassed, "within 1 s", timeout_s=1.0),
    # not a chat completion
    Fault(sends_body("<html>Log in", content_type="text/html"), ReplyMalformed, "no chat completion.*BASE_URL"),
    Fault(sends_body("hello", content_type="text/plain"), ReplyMalformed, "no chat completion"),
    Fault(sends_body(""), ReplyMalformed, "cannot be read"),
    Fault(sends_body('{"choices": [{'), ReplyMalformed, "cannot be read"),
    Fault(sends_body('{"choices": null}'), ReplyMalformed, "cannot be read"),
    Fault(sends_body('{"detail": "hm"}'), ReplyMalformed, "cannot be read"),
    Fault(sends_body("[" * 100_000), ReplyMalformed, "cannot be read"),
    Fault(sends_body('"text"'), ReplyMalformed, "cannot be read"),
    Fault(sends_lines('data: {"choices": [{"del'), ReplyMalformed, "cannot be read"),
    Fault(sends_lines('data: {"choices": null}'), ReplyMalformed, "cannot be read"),
    Fault(sends_lines('data: {"choices": [null]}'), ReplyMalformed, "cannot be read"),
    Fault(sends_lines('data: {"choices": [{"delta": {"content": 5}}]}'), ReplyMalformed, "cannot be read"),
    Fault(sends_lines("data: 5"), ReplyMalformed, "cannot be read"),
    Fault(sends_lines("data: " + "[" * 100_000), ReplyMalformed, "cannot be read"),
    Fault(sends_lines(), ReplyMalformed, "no chat completion"),
    Fault(says(""), ReplyMalformed, "without any text.*stop"),
    Fault(says(" \n"), ReplyMalformed, "without any text"),
    Fault(says("", finish_reason="tool_calls"), ReplyMalformed, "tool_calls"),
    Fault(floods(), ReplyRepeats, "same over and over"),
    Fault(floods(3_000), ReplyMalformed, "more than 1,000,000 characters"),
    Fault(repeats("\n"), ReplyRepeats, "same over and over.*temperature"),
    Fault(repeats("the next line, and "), ReplyRepeats, "same over and over"),
    Fault(calls_tools(*[("read", "{}")] * 200), ReplyMalformed, "more than 128 tools"),
    Fault(calls_tools(("x" * 100_000, "[" * 100_000)), ReplyMalformed, "a tool by more than 500 characters"),
    # in another encoding
    Fault(sends_bytes("data: caf\xe9\n\n".encode("latin-1")), ReplyMalformed, "cannot be read"),
    Fault(sends_bytes('{"choices": []}'.encode("utf-16"), "application/json"), ReplyMalformed, "cannot be read"),
    Fault(sends_bytes(b"not gzip", content_encoding="gzip"), ReplyMalformed, "cannot be read"),
    Fault(sends_bytes(bytes(range(256)) * 40, "application/octet-stream"), ReplyMalformed, "no chat|cannot be read"),
    Fault(sends_bytes(b"{}", content_encoding="br"), ReplyMalformed, "packed its answer as 'br'"),
    Fault(sends_bytes(BOMB, "application/json", content_encoding="gzip"), ReplyMalformed, "more than 16,000,000 bytes"),
    Fault(sends_bytes(BOMB, content_encoding="deflate"), ReplyMalformed, "more than 16,000,000 bytes"),
    Fault(floods_one_line(), ReplyMalformed, "more than 16,000,000 bytes"),
    Fault(floods_one_line(b"data: x\n" * 10_000), ReplyMalformed, "more than 200 lines"),
    # not to the end
    Fault(ends_without_finish("hel"), ReplyCut, "after 3 characters.*ended before"),
    Fault(breaks_off("hello"), ReplyCut, "after 5 characters.*connection was lost"),
    Fault(breaks_off(), ConnectionFailed, "broke"),
    Fault(LENGTH_CUT, ReplyCut, "length limit after 11 characters.*Ask for less"),
    Fault(says("", finish_reason="length"), ReplyCut, "length limit"),
    Fault(ERROR_IN_STREAM, ProviderUnavailable, "500.*out of memory"),
    Fault(says("so f", finish_reason="error"), ReplyCut, "reported an error"),
    # declined
    Fault(REFUSED, ReplyRefused, "declined: I cannot help"),
    Fault(FILTERED, ReplyRefused, "content filter"),
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
async def test_a_fault_of_the_endpoint_becomes_the_right_error(fault: Fault) -> None:
    with ChatServer(fault.turn) as server:
        error = await failure_of(Endpoint(server.base_url, KEY), fault.timeout_s)
    assert type(error) is fault.error
    assert re.search(fault.tells, str(error), re.DOTALL)
    assert f"scripted-model at {server.base_url}" in error.what
    assert error.next_step
    assert len(server.asked) == fault.n_calls


async def test_a_packed_reply_takes_no_more_memory_than_the_limit_on_a_plain_one() -> None:
    with ChatServer(sends_bytes(BOMB, "application/json", content_encoding="gzip")) as server:
        tracemalloc.start()
        try:
            await failure_of(Endpoint(server.base_url))
            _, peak_bytes = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert peak_bytes < 40_000_000


async def test_a_reply_that_is_packed_unasked_is_read() -> None:
    whole = {"choices": [{"message": {"content": "I am ünpacked."}, "finish_reason": "stop"}]}
    packed = gzip.compress(json.dumps(whole).encode())
    with ChatServer(sends_bytes(packed, "application/json", content_encoding="gzip")) as server:
        client = OpenAIChat(Endpoint(server.base_url), "scripted-model", PATIENCE_S)
        try:
            assert (await client.complete(QUESTION)).text == "I am ünpacked."
        finally:
            await client.aclose()


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_what_is_asked_goes_to_no_address_but_the_one_that_was_named(status: int) -> None:
    with ChatServer("I am somebody else.") as elsewhere:
        location = f"http://me:secret@{elsewhere.base_url.removeprefix('http://')}/chat/completions?key=1"
        sends_on = Turn("redirects", lambda wire: wire.respond(status, b"", "text/plain", {"location": location}))
        with ChatServer(sends_on) as server:
            error = await failure_of(Endpoint(server.base_url, KEY))
        assert not elsewhere.asked
    assert isinstance(error, RequestRefused)
    assert f"redirects to {elsewhere.base_url}/chat/completions; nothing was sent there" in error.what
    assert len(server.asked) == 1
    assert "ROLECALL_BASE_URL" in error.next_step


@settings(max_examples=40, deadline=None)
@given(chunk=recursive(none() | booleans() | integers() | text(), lambda inner: lists(inner) | objects(inner)))
def test_whatever_json_a_chunk_is_the_call_ends_in_a_reply_or_a_typed_error(chunk: object) -> None:
    async def ask(endpoint: Endpoint) -> object:
        client = OpenAIChat(endpoint, "scripted-model", 5)
        try:
            return await client.complete(QUESTION)
        except RolecallError as error:
            return error
        finally:
            await client.aclose()

    with ChatServer(sends_lines(f"data: {json.dumps(chunk)}")) as server:
        assert isinstance(asyncio.run(ask(Endpoint(server.base_url))), Reply | RolecallError)


async def test_a_missing_key_is_told_apart_from_a_wrong_one() -> None:
    with ChatServer(fails(401, "no auth")) as server:
        error = await failure_of(Endpoint(server.base_url))
    assert isinstance(error, KeyRefused)
    assert "asks for an API key" in error.what
    assert "Set OPENAI_API_KEY" in error.next_step


async def test_an_address_that_lacks_its_version_is_suspected_when_nothing_is_there() -> None:
    with ChatServer(fails(404)) as server:
        error = await failure_of(Endpoint(server.base_url.removesuffix("/v1")))
    assert isinstance(error, UnknownModel)
    assert "usually ends with /v1" in error.next_step


# Nobody there


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_a_refused_connection_says_to_start_the_local_server(host: str) -> None:
    error = await failure_of(Endpoint(f"http://{host}:{free_port()}/v1"))
    assert isinstance(error, ConnectionFailed)
    assert "nothing answers there (connection refused)" in error.what
    assert re.search(r"Start the model's server.*ROLECALL_BASE_URL", error.next_step)


async def test_an_unknown_host_is_told_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    error = await failure_of(Endpoint("http://models.invalid/v1"))
    assert isinstance(error, ConnectionFailed)
    assert "http://models.invalid/v1 cannot be reached: its host is not known" in error.what


async def test_https_at_a_plain_port_is_told_as_a_failed_secure_connection() -> None:
    with ChatServer("ok") as server:
        error = await failure_of(Endpoint(server.base_url.replace("http:", "https:")))
    assert isinstance(error, ConnectionFailed)
    assert "no secure connection" in error.what
    assert "http, not https" in error.next_step


@pytest.fixture(scope="session")
def self_signed(tmp_path_factory: pytest.TempPathFactory) -> ssl.SSLContext:
    """A certificate that nobody vouches for."""
    folder = tmp_path_factory.mktemp("certificate")
    openssl = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-days", "1"]
    files = ["-keyout", str(folder / "key.pem"), "-out", str(folder / "certificate.pem")]
    subprocess.run([*openssl, *files], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "certificate.pem", folder / "key.pem")
    return context


async def test_a_certificate_that_nobody_vouches_for_is_told_with_how_to_trust_it(self_signed: ssl.SSLContext) -> None:
    server = await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", 0, ssl=self_signed)
    async with server:
        port = server.sockets[0].getsockname()[1]
        error = await failure_of(Endpoint(f"https://127.0.0.1:{port}/v1"))
    assert isinstance(error, ConnectionFailed)
    assert "no secure connection, " in error.what
    assert re.search("certificate.*SSL_CERT_FILE", str(error))


def test_a_host_that_never_accepts_a_connection_is_not_taken_for_a_slow_model() -> None:
    error = openai.APITimeoutError(httpx2.Request("POST", "http://192.0.2.1/v1"))
    error.__cause__ = httpx2.ConnectTimeout("")
    assert isinstance(explain(error, ASKED), ConnectionFailed)
    error.__cause__ = httpx2.ReadTimeout("")
    assert isinstance(explain(error, ASKED), DeadlinePassed)


async def test_a_local_server_is_asked_without_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{free_port()}")
    with ChatServer("ok") as server:
        client = OpenAIChat(Endpoint(server.base_url), "scripted-model", 5)
        assert (await client.complete(QUESTION)).text == "ok"
        await client.aclose()


async def test_text_that_is_no_unicode_is_refused_before_anything_is_sent() -> None:
    with ChatServer("ok") as server:
        client = OpenAIChat(Endpoint(server.base_url), "scripted-model", 5)
        with pytest.raises(RequestRefused, match="not valid Unicode"):
            await client.complete([ChatMessage("user", "half \ud800 a pair")])
        await client.aclose()
    assert not server.asked


async def test_listing_the_models_fails_as_asking_one_does() -> None:
    client = OpenAIChat(Endpoint(f"http://127.0.0.1:{free_port()}/v1"), "", 5)
    with pytest.raises(ConnectionFailed, match="nothing answers"):
        await client.complete(QUESTION)
    await client.aclose()


# The key stays where it is


@pytest.mark.parametrize(
    "echo",
    [
        fails(401, f"Incorrect API key provided: {KEY}. " * 3),
        fails(401, "x" * 290 + KEY),
        fails(500, f"failed for {KEY}"),
        sends_body(f'{{"choices": "{KEY}"}}'),
        sends_body(f"Bearer {KEY}", status=400, content_type="text/plain"),
        sends_lines(f'data: {{"error": {{"message": "no {KEY}"}}}}'),
        sends_lines(f"data: {KEY}"),
    ],
    ids=lambda turn: turn.name,
)
async def test_a_key_that_the_endpoint_echoes_is_in_no_text_and_no_traceback(
    echo: Turn, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    with ChatServer(echo) as server:
        endpoint = Endpoint(server.base_url, KEY)
        error = await failure_of(endpoint)
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    told = "".join([str(error), repr(error), *traceback.format_exception(error), caplog.text, repr(endpoint)])
    assert KEY[:8] not in told


async def test_a_password_in_the_address_is_not_shown() -> None:
    error = await failure_of(Endpoint(f"http://me:hunter2@127.0.0.1:{free_port()}/v1?token=t0k3n"))
    assert "hunter2" not in str(error)
    assert "t0k3n" not in str(error)
    assert "127.0.0.1" in str(error)


# What endpoints say, in the shapes that are about


@pytest.mark.parametrize(
    ("body", "code", "said"),
    [
        ({"message": "m", "code": "c"}, "c", "m"),
        ({"error": {"message": "m", "type": "t"}}, "t", "m"),
        ({"error": "m"}, "", "m"),
        ({"detail": [{"msg": "m", "loc": ["body"]}]}, "", "m"),
        ([{"error": {"code": 400, "message": "m"}}], "400", "m"),
        ("  several \n lines ", "", "several lines"),
        ("<!doctype html><p>no", "", "a web page instead of an answer"),
        ({"error": {"message": {"deep": 1}}}, "", ""),
        ([], "", ""),
        (None, "", ""),
        (7, "", ""),
    ],
)
def test_a_complaint_is_read_in_any_shape(body: object, code: str, said: str) -> None:
    complaint = read_complaint(body, ASKED.endpoint, 400)
    assert (complaint.code, complaint.said) == (code, said)


def test_a_long_complaint_is_shortened() -> None:
    assert len(read_complaint("word " * 1000, ASKED.endpoint, 400).said) <= 300


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ({"message": "slow", "code": "rate_limit_exceeded"}, RateLimited),
        ({"message": "slow", "code": 429}, RateLimited),
        ({"message": "who", "code": "invalid_api_key"}, KeyRefused),
        ({"message": "the request exceeds the available context size", "code": 400}, ContextOverflow),
        ({"message": "model is overloaded"}, ProviderUnavailable),
    ],
)
def test_an_error_inside_a_stream_is_sorted_by_its_code(body: object, error: type[RolecallError]) -> None:
    assert type(explain_complaint(read_complaint(body, ASKED.endpoint), ASKED)) is error


@pytest.mark.parametrize(
    ("status", "said", "error"),
    [
        (400, 'model "qwen" not found, try pulling it first', UnknownModel),
        (400, "The model `gpt-x` does not exist or you do not have access to it.", UnknownModel),
        (400, "No models loaded. Please load a model first.", UnknownModel),
        (400, "This model's maximum context length is 8192 tokens, however you requested 9000.", ContextOverflow),
        (400, "the request exceeds the available context size (4096 tokens)", ContextOverflow),
        (400, "prompt is too long: 210000 tokens", ContextOverflow),
        (400, "Unsupported value: 'temperature' does not support 0.2 with this model.", RequestRefused),
    ],
)
def test_a_refusal_without_a_code_is_sorted_by_its_words(status: int, said: str, error: type[RolecallError]) -> None:
    assert type(explain_complaint(read_complaint(said, ASKED.endpoint, status), ASKED)) is error


def test_an_hour_to_come_back_is_told_in_local_time() -> None:
    earliest = datetime.now(UTC) + timedelta(seconds=300)
    error = explain_complaint(read_complaint("wait", ASKED.endpoint, 429, "300"), ASKED)
    latest = datetime.now(UTC) + timedelta(seconds=300)
    told = re.search(r"after ((?:\d{4}-\d\d-\d\d )?\d\d:\d\d(?::\d\d)?)", error.next_step)
    assert told
    possible = [(earliest + timedelta(seconds=n)).astimezone() for n in range((latest - earliest).seconds + 2)]
    assert told[1] in {f"{each:{form}}" for each in possible for form in ("%H:%M:%S", "%Y-%m-%d %H:%M")}


def test_a_date_to_come_back_is_told_as_one() -> None:
    error = explain_complaint(read_complaint("wait", ASKED.endpoint, 429, "Fri, 31 Dec 2100 12:00:00 GMT"), ASKED)
    assert re.search(r"after 210[01]-\d\d-\d\d \d\d:\d\d", error.next_step)


@pytest.mark.parametrize("header", ["", "soon", "nan", "-5", "inf", "1e300", "Fri, 99 Foo"])
def test_an_odd_retry_after_header_breaks_nothing(header: str) -> None:
    error = explain_complaint(read_complaint("wait", ASKED.endpoint, 429, header), ASKED)
    assert "again" in error.next_step


def test_nobody_is_told_to_come_back_in_the_past() -> None:
    error = explain_complaint(read_complaint("wait", ASKED.endpoint, 429, "-200000"), ASKED)
    assert not re.search(r"\d{4}-\d\d", error.next_step)
