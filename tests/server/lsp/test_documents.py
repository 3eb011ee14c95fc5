"""The server's text equals the editor's, whatever is typed, in every encoding an editor may count in."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from lsprotocol import types

from rolecall_server.errors import FileRefused
from rolecall_server.lsp.text.documents import OpenDocument, changed, file_path, folder_paths
from rolecall_server.lsp.text.positions import Encoding, choose_encoding, n_units, place_at, positions_at
from rolecall_server.workspace import split_lines

ENCODINGS = (Encoding.Utf8, Encoding.Utf16, Encoding.Utf32)
CODECS = {Encoding.Utf8: ("utf-8", 1), Encoding.Utf16: ("utf-16-le", 2), Encoding.Utf32: ("utf-32-le", 4)}

# Line endings, what `str.splitlines` takes for one, combining, astral and joined characters, and half of one.
PIECES = (
    "\n",
    "\r\n",
    "\r",
    "\f",
    "\v",
    "\x85",
    "\u2028",
    "\t",
    "a",
    "b c",
    "é",
    "e\u0301",
    "日本",
    "😀",
    "𝄞",
    "👩\u200d🔬",
    "\ud800",
)
texts = st.lists(st.sampled_from(PIECES), max_size=14).map("".join)
encodings = st.sampled_from(ENCODINGS)
places = st.tuples(st.integers(0, 12), st.integers(0, 12))


class Model:
    """A text as the specification describes it: one character after the other, nothing shared with the server."""

    def __init__(self, text: str, encoding: Encoding) -> None:
        self.text, self.encoding = text, encoding

    def offset(self, line: int, units: int) -> int:
        """Walk *line* line endings ahead, then *units* on, never past the line's end nor into a character."""
        at = 0
        for _ in range(line):
            while at < len(self.text) and self.text[at] not in "\r\n":
                at += 1
            if at == len(self.text):
                return at
            at += 2 if self.text[at : at + 2] == "\r\n" else 1
        while at < len(self.text) and self.text[at] not in "\r\n":
            units -= self.width(self.text[at])
            if units < 0:
                break
            at += 1
        return at

    def width(self, character: str) -> int:
        codec, size = CODECS[self.encoding]
        return len(character.encode(codec, "surrogatepass")) // size

    def replace(self, start: tuple[int, int], end: tuple[int, int], text: str) -> None:
        first, last = self.offset(*start), self.offset(*end)
        self.text = self.text[:first] + text + self.text[max(first, last) :]


def ranged(start: tuple[int, int], end: tuple[int, int], text: str) -> types.TextDocumentContentChangePartial:
    return types.TextDocumentContentChangePartial(types.Range(types.Position(*start), types.Position(*end)), text)


def document(text: str) -> OpenDocument:
    return OpenDocument("file:///x.py", "python", 1, text)


class Typing(RuleBasedStateMachine):
    """An editor and the server take the same changes; after each the texts are the same."""

    @initialize(text=texts, encoding=encodings)
    def open(self, text: str, encoding: Encoding) -> None:
        self.model, self.document = Model(text, encoding), document(text)

    @rule(edits=st.lists(st.tuples(places, places, texts), min_size=1, max_size=3))
    def edit_ranges(self, edits: list[tuple[tuple[int, int], tuple[int, int], str]]) -> None:
        changes: list[types.TextDocumentContentChangeEvent] = []
        for start, end, text in edits:
            self.model.replace(start, end, text)
            changes.append(ranged(start, end, text))
        self.take(changes)

    @rule(text=texts)
    def replace_everything(self, text: str) -> None:
        self.model.text = text
        self.take([types.TextDocumentContentChangeWholeDocument(text)])

    @rule(first=texts, start=places, end=places, then=texts)
    def replace_everything_and_edit(self, first: str, start: tuple[int, int], end: tuple[int, int], then: str) -> None:
        self.model.text = first
        self.model.replace(start, end, then)
        self.take([types.TextDocumentContentChangeWholeDocument(first), ranged(start, end, then)])

    @invariant()
    def the_texts_are_the_same(self) -> None:
        if hasattr(self, "model"):
            assert self.document.text == self.model.text

    def take(self, changes: Sequence[types.TextDocumentContentChangeEvent]) -> None:
        self.document = changed(self.document, self.document.version + 1, changes, self.model.encoding)


TestTyping = Typing.TestCase


def offset_at(text: str, position: types.Position, encoding: Encoding) -> int:
    lines = split_lines(text)
    line, column = place_at(lines, position, encoding)
    return sum(map(len, lines[:line])) + column


@given(text=texts, place=places, encoding=encodings)
def test_a_position_means_the_same_place_as_in_the_specification(
    text: str, place: tuple[int, int], encoding: Encoding
) -> None:
    assert offset_at(text, types.Position(*place), encoding) == Model(text, encoding).offset(*place)


@given(text=texts, encoding=encodings, data=st.data())
def test_a_place_told_to_the_editor_and_back_is_the_same_place(
    text: str, encoding: Encoding, data: st.DataObject
) -> None:
    inside_an_ending = {at for at in range(1, len(text)) if text[at - 1 : at + 1] == "\r\n"}
    offset = data.draw(st.sampled_from(sorted(set(range(len(text) + 1)) - inside_an_ending)))
    [position] = positions_at(text, [offset], encoding)
    assert offset_at(text, position, encoding) == offset
    assert Model(text, encoding).offset(position.line, position.character) == offset


@given(text=texts, encoding=encodings)
def test_units_are_those_of_the_encoding(text: str, encoding: Encoding) -> None:
    assert n_units(text, encoding) == sum(map(Model(text, encoding).width, text))


def test_a_position_inside_a_character_means_its_start() -> None:
    line = "x😀y"
    assert [offset_at(line, types.Position(0, units), Encoding.Utf16) for units in range(6)] == [0, 1, 1, 2, 3, 3]
    assert [offset_at(line, types.Position(0, units), Encoding.Utf8) for units in range(7)] == [0, 1, 1, 1, 1, 2, 3]


def test_a_form_feed_ends_no_line() -> None:
    text = "a\n\f\nb"
    assert offset_at(text, types.Position(2, 0), Encoding.Utf16) == text.index("b")


def test_a_line_feed_typed_after_a_carriage_return_becomes_one_ending_with_it() -> None:
    edited = changed(document("a\rb"), 2, [ranged((1, 0), (1, 0), "\n"), ranged((1, 0), (1, 0), "#")], Encoding.Utf16)
    assert edited.text == "a\r\n#b"


def test_the_version_is_the_one_the_editor_names() -> None:
    assert changed(document("a"), 7, [], Encoding.Utf16).version == 7


def test_the_encoding_is_utf_16_where_the_client_says_nothing() -> None:
    assert choose_encoding(types.ClientCapabilities()) == Encoding.Utf16
    general = types.GeneralClientCapabilities()
    assert choose_encoding(types.ClientCapabilities(general=general)) == Encoding.Utf16


ELSEWHERE = [
    "file://server/share",
    "file://" + "../" * 50,
    "file://%2e%2e/",
    "file://me@localhost/",
    "file://localhost.x/",
]


@pytest.mark.parametrize("uri", ELSEWHERE)
def test_an_address_with_the_name_of_another_machine_is_no_path_of_this_one(uri: str) -> None:
    with pytest.raises(FileRefused, match="is on another machine"):
        file_path(uri)


@pytest.mark.parametrize("machine", ["", "localhost", "LOCALHOST"])
def test_an_address_may_name_this_machine(machine: str, tmp_path: Path) -> None:
    path = tmp_path.resolve() / "a b.py"
    assert file_path(path.as_uri().replace("file://", f"file://{machine}")) == path


def test_folders_that_are_not_here_do_not_keep_the_others_from_being_opened(tmp_path: Path) -> None:
    here = tmp_path.resolve()
    assert folder_paths([*ELSEWHERE, "untitled:x", "file://", "file://[", "file:///%00", here.as_uri()]) == [here]
