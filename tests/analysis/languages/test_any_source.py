"""Any text has facts, in every language."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rolecall_analysis.languages import read_facts
from rolecall_analysis.languages.table import LANGUAGES
from rolecall_analysis.values import FileFacts

NAMES = sorted(LANGUAGES)
FRAGMENTS = [
    "class Cart(Base) { int total(int a) { return this.sum(a); } }\n",
    "export default class extends A.B { #x = () => this.y(); }\n",
    "import { a as b } from './x';\nconst {c} = require('d');\n",
    "func (c *Cart) Total(a, b int) { x := c.y() }\n",
    "impl<T> A for B<T> { fn f(&self) { m!(g(x)); } }\nuse a::{b, c::*};\n",
    "namespace A\\B; use C\\D as E; $x->y()->z();\n",
    "<?php ",
    "module A\n  class B < C\n    def d(e) f end\n  end\nend\n",
    "template <class T> T A<T>::f(T a) { a->b.c(); }\n",
    '#include "x.h"\n#define X(a) a\n',
    "typedef struct { int a; } b;\n",
    "namespace A.B; using C.D; record R(int A);\n",
    "/** Doc é. */\n// x\n# y\n@dec [Attr] #[attr]\n",
    *["class ", "function ", "def ", "fn ", "func ", "struct ", "enum ", "const ", "var ", "let ", "type ", "impl "],
    *[
        "namespace ",
        "import ",
        "use ",
        "from ",
        "require ",
        "=> ",
        "-> ",
        ":: ",
        "?.",
        "new ",
        "async ",
        "end\n",
        "do |x| ",
    ],
    *["\t", "\n", "\r\n", "\r", "\0", "\ufeff", "\u2028", chr(0xD800), "é", "漢", "😀", "`", "${", "<A>", "</A>"],
    *[
        "'",
        '"',
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        ":",
        "=",
        ".",
        ",",
        "#",
        "*",
        "&",
        "a",
        "B",
        "1",
        "<",
        ">",
        ";",
        "|",
        "$",
        "@",
    ],
]

texts = st.one_of(st.lists(st.sampled_from(FRAGMENTS), max_size=25).map("".join), st.text(max_size=60))


def spans_of(facts: FileFacts) -> list[tuple[int, int]]:
    """Every place that the facts name."""
    spans = [one.span for one in (*facts.definitions, *facts.imports, *facts.calls)]
    spans += [one.name_span for one in (*facts.definitions, *facts.imports)]
    spans += [problem.span for problem in facts.problems if problem.span]
    assert all(span.start <= span.end for span in spans)
    places = [(place.line, place.column) for span in spans for place in (span.start, span.end)]
    for reference in facts.references:
        assert len(reference.places) % (2 * (reference.name.count(".") + 1)) == 0
        places += zip(reference.places[::2], reference.places[1::2], strict=True)
    return places


@settings(max_examples=600, deadline=None)
@given(st.sampled_from(NAMES), texts)
@example("c", "'\r\n")
def test_every_place_lies_in_the_text(language: str, text: str) -> None:
    facts = read_facts("a", text, language)
    lines = re.split(r"\r\n|\r|\n", text)
    for line, column in spans_of(facts):
        assert column <= len(lines[line])
    for definition in facts.definitions:
        expected = f"{definition.scope}.{definition.name}" if definition.scope else definition.name
        assert definition.qualified_name == expected


@pytest.mark.parametrize("language", NAMES)
@pytest.mark.parametrize(
    "text",
    {
        "nothing": "",
        "NUL": "\0\0\0",
        "brackets never closed": "(" * 1000,
        "braces never closed": "{" * 1000,
        "brackets 1,000 deep": "x = " + "[" * 1000 + "]" * 1000,
        "calls 1,000 deep": "f(" * 1000 + ")" * 1000,
        "attributes 10,000 long": "a" + ".b" * 10_000 + "()",
        "paths 5,000 long": "a" + "::b" * 2_000 + "()",
        "calls on calls 2,000 long": "f" + ".b()" * 5_000,
        "classes in one line": "class A {" * 500,
        "functions in one line": "function f() {" * 500,
        "templates never closed": "a<" * 1000,
        "200 kB line of calls": "x = [" + "f(1), " * 10_000 + "]",
        "200 kB name": "a" * 200_000 + "()",
        "200 kB string": "x = '" + "a" * 200_000,
        "quotes": '"' * 5_000,
        "comments": "// a\n" * 5_000 + "# b\n" * 5_000,
        "attribute marks": "@a " * 3_000 + "#[a] " * 3_000,
        "another language": "def f(a): return g(a)\n" * 500,
        "larger than the limit": "x = 1\n" * 400_000,
    }.values(),
    ids=lambda text: f"{text[:8]!r}",
)
def test_bad_source_gives_facts_and_no_failure(language: str, text: str) -> None:
    begin = "<?php " if language == "php" else ""
    assert len(read_facts("a", begin + text, language).problems) <= 20


def test_no_grammar_is_loaded_before_a_file_needs_it() -> None:
    code = textwrap.dedent(
        """
        import sys
        import rolecall_analysis.languages as languages

        def grammars():
            return {name.partition(".")[0] for name in sys.modules if name.startswith("tree_sitter_")}

        before = grammars()
        assert before <= {"tree_sitter_python"}, before
        languages.read_facts("a.go", "package a", "go")
        assert grammars() - before == {"tree_sitter_go"}
        """
    )
    subprocess.run([sys.executable, "-c", code], check=True)
