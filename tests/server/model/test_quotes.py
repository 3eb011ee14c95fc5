"""What a published recording holds of a library's text: marks that say where it stands."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rolecall_server.model import ChatMessage, Reply
from rolecall_server.model.recordings.recording import Exchange
from support.quotes import with_quotes, without_quotes

LIBRARY = {
    "a.py": ["def first(one, two):", "    return one", "", "", "def second(three):", "    return three"],
    "b.py": ["def second(three):", "    return three + 1"],
}
SAID = [
    "FILE: a.py",
    "<<<<<<< SEARCH",
    "def second(three):",
    "    return three",
    "=======",
    "def second(three, four=0):",
    "    return three",
    ">>>>>>> REPLACE",
]


def replied(said: str) -> Exchange:
    """*said* to a question, and again after that."""
    reply = Reply(said, "model", None, None)
    return Exchange((ChatMessage("user", said), ChatMessage("assistant", said), ChatMessage("user", "more")), reply)


def test_a_quote_is_named_by_its_lines() -> None:
    (published,) = without_quotes([replied("\n".join(SAID))], LIBRARY)
    assert published.reply.text.split("\n") == [*SAID[:2], "⟪a.py:5-6⟫", *SAID[4:]]
    assert published.messages[1].text == published.reply.text
    assert published.messages[0].text == "\n".join(SAID), "what was asked is sealed elsewhere"


LINES = st.sampled_from([*LIBRARY["a.py"], *LIBRARY["b.py"], "else:", "other"])


@given(st.lists(LINES, max_size=12))
def test_what_was_taken_out_is_put_back(lines: list[str]) -> None:
    said = replied("\n".join(lines))
    assert with_quotes(without_quotes([said], LIBRARY), LIBRARY) == [said]
