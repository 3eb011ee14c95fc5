"""Conversations are written down as they happen, and answered from the file by what they open with."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis.strategies import builds, characters, integers, lists, none, sampled_from, text

from rolecall_server.errors import FileRefused, ReplayMiss, ReplyCut
from rolecall_server.model import NO_WISHES, ChatMessage, Recorder, ReplayModel, Reply, Wishes
from rolecall_server.model.chat_completions.openai_chat import OpenAIChat
from rolecall_server.model.endpoint import Endpoint
from rolecall_server.model.recordings.recording import ABOUT_THE_MACHINE, Exchange, read_recording, write_sealed
from rolecall_server.model.recordings.replay import find_reply
from support.chat_server import ChatServer, ends_without_finish, says

SYSTEM = ChatMessage("system", "You are the QA Engineer.")
TASK = ChatMessage("user", "Write tests for this file:\n\ndef add(a, b):\n    return a + b\n")


def user(text: str) -> ChatMessage:
    return ChatMessage("user", text)


def said(text: str) -> ChatMessage:
    return ChatMessage("assistant", text)


def replied(text: str) -> Reply:
    return Reply(text, "m", None, None)


class Answers:
    """A client that gives what it was given, in order."""

    label = "a test"

    def __init__(self, *texts: str) -> None:
        self._texts = list(texts)

    async def complete(self, messages: Sequence[ChatMessage], wishes: Wishes = NO_WISHES) -> Reply:
        return replied(self._texts.pop(0))

    async def aclose(self) -> None:
        """Nothing is open."""


async def record(path: Path, *calls: tuple[Sequence[ChatMessage], str]) -> ReplayModel:
    """A replay of *calls*, each the messages and the answer."""
    recorder = Recorder(Answers(*(answer for _, answer in calls)), path)
    for messages, _ in calls:
        await recorder.complete(messages)
    return ReplayModel(path)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "talk.jsonl"


async def test_what_an_endpoint_said_is_replayed_without_it(path: Path) -> None:
    with ChatServer(says("def test_add(): ...", usage=(30, 6))) as server:
        recorder = Recorder(OpenAIChat(Endpoint(server.base_url), "scripted-model", 5), path)
        recorded = await recorder.complete([SYSTEM, TASK])
        assert recorder.label == f"scripted-model at {server.base_url}"
        await recorder.aclose()
    pieces: list[str] = []
    replayed = await ReplayModel(path).complete([SYSTEM, TASK], Wishes(pieces.append))
    assert replayed == recorded == Reply("def test_add(): ...", "scripted-model", 30, 6)
    assert "".join(pieces) == replayed.text


async def test_a_recording_is_one_readable_line_for_each_call(path: Path) -> None:
    await record(path, ([SYSTEM, TASK], "first\nü"), ([SYSTEM, TASK, said("first\nü"), user("again")], "second"))
    lines = path.read_text(encoding="utf-8").splitlines()
    assert len(lines) == 2
    assert "ü" in lines[0]
    assert json.loads(lines[1])["messages"][-1] == {"role": "user", "text": "again"}
    assert json.loads(lines[1])["reply"]["text"] == "second"


async def test_a_failed_call_is_not_recorded(path: Path) -> None:
    with ChatServer([ends_without_finish("hal"), "whole"]) as server:
        recorder = Recorder(OpenAIChat(Endpoint(server.base_url), "scripted-model", 5), path)
        with pytest.raises(ReplyCut):
            await recorder.complete([SYSTEM, TASK])
        await recorder.complete([SYSTEM, TASK])
        await recorder.aclose()
    assert len(path.read_text(encoding="utf-8").splitlines()) == 1


async def test_later_turns_are_followed_although_the_feedback_differs(path: Path) -> None:
    replay = await record(
        path,
        ([SYSTEM, TASK], "one"),
        ([SYSTEM, TASK, said("one"), user("failed in 0.01s at /home/a")], "two"),
        ([SYSTEM, TASK, said("one"), user("failed in 0.01s"), said("two"), user("still")], "three"),
    )
    talk = [SYSTEM, TASK]
    for expected in ("one", "two", "three"):
        reply = await replay.complete(talk)
        assert reply.text == expected
        talk += [said(reply.text), user("failed in 9.99s at C:\\b")]


async def test_a_turn_of_the_model_that_was_shortened_on_the_way_is_followed_too(path: Path) -> None:
    replay = await record(path, ([SYSTEM, TASK, said("one, at length"), user("more")], "two"))
    assert (await replay.complete([SYSTEM, TASK, said("one"), user("more")])).text == "two"


async def test_a_conversation_recorded_twice_is_answered_by_the_later_one_throughout(path: Path) -> None:
    replay = await record(
        path,
        ([SYSTEM, TASK], "old one"),
        ([SYSTEM, TASK, said("old one"), user("bad")], "old two"),
        ([SYSTEM, TASK], "new one"),
        ([SYSTEM, TASK, said("new one"), user("bad")], "new two"),
        ([SYSTEM, TASK, said("old one"), user("bad")], "old two, once more"),
    )
    first = await replay.complete([SYSTEM, TASK])
    second = await replay.complete([SYSTEM, TASK, said(first.text), user("worse")])
    assert (first.text, second.text) == ("new one", "new two")


async def test_conversations_with_different_openings_are_kept_apart(path: Path) -> None:
    replay = await record(path, ([SYSTEM, TASK], "tests"), ([SYSTEM, user("Implement it")], "code"))
    assert (await replay.complete([SYSTEM, user("Implement it")])).text == "code"


async def test_a_miss_shows_where_the_nearest_opening_differs(path: Path) -> None:
    replay = await record(path, ([SYSTEM, user("Something else")], "no"), ([SYSTEM, TASK], "tests"))
    changed = user(TASK.text.replace("a + b", "a - b"))
    with pytest.raises(ReplayMiss) as caught:
        await replay.complete([SYSTEM, changed])
    assert "-    return a + b" in caught.value.what
    assert "+    return a - b" in caught.value.what
    assert "def add" not in caught.value.what
    assert "Something else" not in caught.value.what
    assert "talk.jsonl" in caught.value.what


async def test_a_miss_stays_short_however_much_differs(path: Path) -> None:
    replay = await record(path, ([user("a\n" * 500 + "x" * 5000)], "no"))
    with pytest.raises(ReplayMiss) as caught:
        await replay.complete([user("b\n" * 500 + "y" * 5000)])
    assert len(caught.value.what.splitlines()) < 15
    assert len(caught.value.what) < 2000
    assert "more lines" in caught.value.what


async def test_a_conversation_that_goes_on_longer_than_recorded_is_a_miss(path: Path) -> None:
    replay = await record(path, ([SYSTEM, TASK], "one"))
    with pytest.raises(ReplayMiss, match="not what comes after 1 answer"):
        await replay.complete([SYSTEM, TASK, said("one"), user("more")])


async def test_an_empty_recording_says_so(path: Path) -> None:
    path.write_text("\n\n")
    with pytest.raises(ReplayMiss, match="It is empty"):
        await ReplayModel(path).complete([TASK])


async def test_a_replay_says_that_no_model_is_asked(path: Path) -> None:
    replay = await record(path)
    assert replay.label == "a replay of talk.jsonl (no model is asked)"
    await replay.aclose()


def test_a_recording_that_is_missing_is_refused(path: Path) -> None:
    with pytest.raises(FileRefused, match=r"talk.jsonl cannot be read: No such file.*ROLECALL_REPLAY"):
        ReplayModel(path)


@pytest.mark.parametrize("line", ["{", "[]", '{"messages": []}', '{"messages": [{"role": "boss"}], "reply": {}}', "\0"])
def test_a_line_that_is_no_call_is_refused_with_its_number(path: Path, line: str) -> None:
    path.write_text("\n" + line + "\n")
    with pytest.raises(FileRefused, match="Line 2 of the recording"):
        ReplayModel(path)


def test_a_recording_that_cannot_be_written_is_refused_before_anything_is_asked(path: Path) -> None:
    with pytest.raises(FileRefused, match=r"cannot be written.*ROLECALL_RECORD"):
        Recorder(Answers(), path / "below" / "nothing.jsonl")


UNICODE = text(characters(exclude_categories=["Cs"]), max_size=8)
MESSAGES = lists(builds(ChatMessage, sampled_from(["system", "user", "assistant"]), UNICODE), max_size=6)
REPLIES = builds(Reply, UNICODE, UNICODE, none() | integers(0, 9), none() | integers(0, 9))


@given(recorded=lists(builds(Exchange, MESSAGES.map(tuple), REPLIES), min_size=1, max_size=5))
def test_whatever_was_recorded_is_found_again(recorded: list[Exchange]) -> None:
    for exchange in recorded:
        latest = [other.reply for other in recorded if other.messages == exchange.messages][-1]
        found = find_reply(recorded, exchange.messages)
        same_talk = [
            other.reply
            for other in recorded
            if [m for m in other.messages if m.role == "assistant"]
            == [m for m in exchange.messages if m.role == "assistant"]
        ]
        assert found is not None
        assert found == latest or found in same_talk


async def test_a_sealed_recording_answers_the_same_conversation_without_showing_it(tmp_path: Path) -> None:
    await record(tmp_path / "open.jsonl", ([SYSTEM, TASK], "Tests."))
    sealed = tmp_path / "sealed.jsonl"
    write_sealed(read_recording(tmp_path / "open.jsonl") * 2, sealed)
    assert "return a + b" not in sealed.read_text(encoding="utf-8")
    assert sealed.read_text(encoding="utf-8").count("\n") == 1
    assert (await ReplayModel(sealed).complete([SYSTEM, TASK])).text == "Tests."
    for asked, differs in (
        ([SYSTEM, user("Another task.")], "message 2 \\(user\\)"),
        ([user("Another role."), TASK], "message 1 \\(user\\)"),
        ([SYSTEM], "its length"),
    ):
        with pytest.raises(ReplayMiss, match=f"It is sealed.*nearest recorded opening differs: {differs}\\."):
            await ReplayModel(sealed).complete(asked)


async def test_what_a_request_says_of_the_machine_makes_no_other_conversation_of_it(tmp_path: Path) -> None:
    def asked(tools: str) -> list[ChatMessage]:
        return [SYSTEM, user(f"Write tests.\n{ABOUT_THE_MACHINE}{tools}.\nThat is all.\n")]

    open_one = await record(tmp_path / "open.jsonl", (asked("Python 3.11, pytest 9.2.0"), "Tests."))
    sealed = tmp_path / "sealed.jsonl"
    write_sealed(read_recording(tmp_path / "open.jsonl"), sealed)
    elsewhere = asked("Python 3.14, unittest")
    for replay in (open_one, ReplayModel(sealed)):
        assert (await replay.complete(elsewhere)).text == "Tests."
        with pytest.raises(ReplayMiss):
            await replay.complete([SYSTEM, user("Write tests.\nThat is not all.\n")])
