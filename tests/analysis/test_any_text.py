"""Any text has facts, and an edited text has the facts of a fresh one."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rolecall_analysis import Edit, FileFacts, Index, Position, Snapshot, Span, text_in
from rolecall_analysis.facts.packed import mentioned_names, pack, unpack

FRAGMENTS = [
    "def f(a, b=1):\n    return g(a)\n",
    "class C(B):\n    '''Doc é.'''\n    def m(self):\n        self.m(x)\n",
    "from a import b as c\n",
    "class C:\n    x = y = 1\n    def m(self):\n        self.z = [f(i) for i in (lambda a: a.é)]\n",
    "    def m(self): self.x = self.w = 1\n",
    "def f(a=lambda x: x):\n    class D:\n        k = 1\n    if TYPE_CHECKING:\n        import b\n",
    "@dec(1)\n",
    "x = [f(i) for i in y]\n",
    "if a:\n    b()\nelse:\n    c()\n",
    "match x:\n    case y: z()\n",
    "global a\n",
    "type X = int\n",
    "with a as b: ",
    "f'{a(1)}",
    "\\\n",
    *["async ", "def ", "class ", "return", "lambda a: ", "print a", "import x.y", "    "],
    *["\t", "\n", "\r\n", "\r", "\f", "\0", "\ufeff", "\u2028", "\x85", chr(0xD800), "é", "漢", "😀"],
    *["'", '"""', "(", ")", "[", "]", "{", "}", ":", "=", ":=", ".", ",", "#", "*", "a", "1"],
]

texts = st.one_of(st.lists(st.sampled_from(FRAGMENTS), max_size=25).map("".join), st.text(max_size=60))
positions = st.builds(Position, st.integers(0, 25), st.integers(0, 30))
edits = st.builds(Edit, positions, positions, texts)


def fresh(text: str) -> FileFacts:
    return Snapshot().with_changes({"m.py": text}).files["m.py"]


def lines_of(text: str) -> list[str]:
    return re.split(r"\r\n|\r|\n", text)


def edited(text: str, edit: Edit) -> str:
    """The specification of an edit, written without offsets into the text."""
    pieces = re.split(r"(\r\n|\r|\n)", text)

    def offset(position: Position) -> int:
        if position.line * 2 >= len(pieces):
            return len(text)
        before = sum(map(len, pieces[: position.line * 2]))
        return before + min(position.column, len(pieces[position.line * 2]))

    start, end = sorted((offset(edit.start), offset(edit.end)))
    return text[:start] + edit.new_text + text[end:]


@settings(max_examples=300, deadline=None)
@given(texts, st.lists(st.one_of(edits, texts), max_size=6))
def test_the_facts_after_edits_are_those_of_the_text_read_anew(text: str, changes: list[Edit | str]) -> None:
    index = Index(Path("nowhere"))
    index.open_document("m.py", text)
    for change in changes:
        text = change if isinstance(change, str) else edited(text, change)
        index.edit_document("m.py", change if isinstance(change, str) else [change])
        assert index.snapshot().files["m.py"] == fresh(text)


@settings(max_examples=200, deadline=None)
@given(texts)
def test_every_span_lies_in_the_text_and_holds_what_it_says(text: str) -> None:
    facts = fresh(text)
    lines = lines_of(text)
    spans = [one.span for one in (*facts.definitions, *facts.imports, *facts.calls)]
    spans += [problem.span for problem in facts.problems if problem.span]
    for span in spans:
        assert span.start <= span.end
        for place in (span.start, span.end):
            assert place.column <= len(lines[place.line])
    for definition in facts.definitions:
        assert text_in(text, definition.name_span) == definition.name


@settings(max_examples=200, deadline=None)
@given(texts)
def test_every_name_stands_where_it_is_said_to_be_read(text: str) -> None:
    lines = lines_of(text)
    for reference in fresh(text).references:
        parts = reference.name.split(".")
        assert len(reference.places) % (2 * len(parts)) == 0
        for i, part in enumerate(parts * (len(reference.places) // (2 * len(parts)))):
            line, column = reference.places[2 * i : 2 * i + 2]
            if part != "?":
                assert lines[line][column:].startswith(part.removesuffix("()"))


@settings(max_examples=200, deadline=None)
@given(texts)
def test_packing_keeps_the_facts_with_or_without_the_source(text: str) -> None:
    facts = fresh(text)
    without_source = replace(facts)
    assert without_source == facts
    assert unpack("m.py", pack(facts)) == facts == unpack("m.py", pack(without_source))
    assert mentioned_names(pack(facts)) == without_source.names == mentioned_names(pack(without_source))


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_on_disk_are_read(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    root = tmp_path_factory.mktemp("bytes")
    (root / "m.py").write_bytes(content)
    index = Index(root)
    index.scan()
    assert set(index.snapshot().files) == {"m.py"}


@pytest.mark.parametrize(
    ("name", "text"),
    {
        "nothing": "",
        "NUL": "def f(): ...\n\0\0\0\ndef g(): ...\n",
        "brackets never closed": "(" * 5000,
        "brackets 5,000 deep": "x = " + "[" * 5000 + "]" * 5000,
        "calls 5,000 deep": "f(" * 5000 + ")" * 5000,
        "attributes 100,000 long": "a" + ".b" * 100_000 + "()",
        "attributes of a call 20,000 long": "f()" + ".b" * 20_000,
        "calls on calls 20,000 long": "f" + ".b()" * 20_000,
        "sums 30,000 long": "+".join(["a"] * 30_000),
        "functions 400 deep": "".join(f"{' ' * i}def f{i}():\n" for i in range(400)) + " " * 400 + "g()",
        "classes in one line": "class A:" * 2000 + "pass",
        "lambdas 5,000 deep": "lambda a: " * 5000 + "a",
        "f-strings 500 deep": "f'{" * 500,
        "1 MB line of calls": "x = [" + f"f({'1' * 21}), " * 40_000 + "]",
        "1 MB line of ideographs and calls": "x = [" + f"f('{'漢' * 19}'), " * 40_000 + "]",
        "1 MB name": "a" * 1_000_000 + "()",
        "1 MB string": "x = '" + "a" * 1_000_000,
        "quotes": '"' * 100_000,
        "colons": ":" * 100_000,
        "decorators": "@" * 100_000,
        "half a file": "class Cart:\n    def total(self):\n        return self.lines.sum(\n            x for x in",
        "10 MB line": "x = " + "a + " * 2_500_000 + "1",
        "calls of lambdas 2,000 deep": "(lambda a: " * 2000 + "a" + ")()" * 2000,
        "another language": "#include <stdio.h>\nint main() { return f(1); }\n" * 500,
        "larger than the limit": "x = 1\n" * 400_000,
    }.items(),
)
def test_bad_source_gives_facts_and_no_failure(name: str, text: str, tmp_path: Path) -> None:
    index = Index(tmp_path)
    index.open_document("m.py", text)
    facts = index.snapshot().files["m.py"]
    assert len(facts.problems) <= 20
    index.edit_document("m.py", [Edit(Position(0, 0), Position(0, 0), "def before(): ...\n")])
    after = index.snapshot().files["m.py"]
    assert after == fresh("def before(): ...\n" + text)


def test_a_text_that_would_take_minutes_to_parse_is_left_out() -> None:
    index = Index(Path("nowhere"))
    index.open_document("m.py", "\\\n" * 100_000)
    (problem,) = index.snapshot().files["m.py"].problems
    assert "too long" in problem.message
    index.edit_document("m.py", "x = 1")
    assert index.snapshot().files["m.py"] == fresh("x = 1")


def test_a_column_in_a_long_line_of_wide_characters_is_exact() -> None:
    call = fresh("x = [" + "'漢', " * 10_000 + "total()]").calls[0]
    assert call.span == Span(Position(0, 5 + 5 * 10_000), Position(0, 5 + 5 * 10_000 + 7))
