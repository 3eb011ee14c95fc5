"""What is read from Jupyter notebooks."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rolecall_analysis import text_in
from rolecall_analysis.languages import language_of, read_facts
from rolecall_analysis.languages.notebook import script_of
from rolecall_analysis.values import FileFacts

TEXT = {"cell_type": "markdown", "source": ["# def title(): ...\n"]}


def notebook(*cells: object, language: str = "python") -> str:
    """The text of a notebook; a cell is its code, as a string or as lines, or a whole cell."""
    made = [one if isinstance(one, dict) else {"cell_type": "code", "source": one, "outputs": []} for one in cells]
    return json.dumps({"cells": made, "metadata": {"language_info": {"name": language}}, "nbformat": 4})


def facts_of(text: str) -> FileFacts:
    return read_facts("book.ipynb", text, "jupyter")


def test_code_cells_are_one_script() -> None:
    text = notebook(
        ["import pandas as pd\n", "\n", "def load(path):\n", "    return pd.read_csv(path)"],
        TEXT,
        "rows = load('a.csv')\nrows.head()",
    )
    facts = facts_of(text)
    assert language_of("book.ipynb") == "jupyter"
    assert [one.qualified_name for one in facts.definitions] == ["load", "rows"]
    assert [one.module for one in facts.imports] == ["pandas"]
    assert [(one.callee, one.scope) for one in facts.calls] == [
        ("pd.read_csv", "load"),
        ("load", ""),
        ("rows.head", ""),
    ]
    assert facts.problems == ()


def test_every_position_is_a_line_below_the_number_of_its_cell() -> None:
    text = notebook("a = 1", TEXT, ["\n", "def total():\n", "    pass\n"], "b = total()")
    script, facts = script_of(text), facts_of(text)
    assert script.text == "# %% [0]\na = 1\n# %% [2]\n\ndef total():\n    pass\n\n# %% [3]\nb = total()\n"
    assert {one.name: one.name_span.start.line for one in facts.definitions} == {"a": 1, "total": 4, "b": 8}
    assert all(text_in(script.text, one.name_span) == one.name for one in facts.definitions)


@pytest.mark.parametrize(
    ("cell", "names"),
    [
        ("%matplotlib inline\na = 1", ["a"]),
        ("!pip install rich\na = 1", ["a"]),
        ("if True:\n    !ls\n    a = 1", ["a"]),
        ("files = !ls -l\na = 1", ["files", "a"]),
        ("frame = %sql select 'it''s'\na = 1", ["frame", "a"]),
        ("%%time\na = 1", ["a"]),
        ("\n%%bash\nif true; then (\na = 1", []),
        ("a?\nload??\n?print\na = 1", ["a"]),
        ("a = 5 % b\na %= c", ["a"]),
        ("a = b != c", ["a"]),
    ],
)
def test_magics_are_comments_that_move_nothing(cell: str, names: list[str]) -> None:
    facts = facts_of(notebook(cell))
    assert [one.name for one in facts.definitions] == names
    assert facts.problems == ()
    assert [len(line) for line in script_of(notebook(cell)).text.split("\n")[1:-1]] == list(map(len, cell.split("\n")))


def test_notebooks_of_before_version_4_are_read() -> None:
    old = {"worksheets": [{"cells": [{"cell_type": "code", "input": ["a = 1\n"]}]}], "nbformat": 3}
    assert [one.name for one in facts_of(json.dumps(old)).definitions] == ["a"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "not JSON"),
        ('{"cells": [', "not JSON"),
        ("[1, 2]", "no cells"),
        ('{"cells": 3}', "no cells"),
        ("[" * 100_000, "not JSON"),
        (notebook("a <- 1", language="R"), "another language"),
    ],
)
def test_what_is_not_a_notebook_of_python_is_a_problem(text: str, problem: str) -> None:
    facts = facts_of(text)
    assert facts.definitions == ()
    assert problem in facts.problems[0].message


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["cells", "source", "cell_type", "metadata"]), inner)
    ),
    max_leaves=12,
)
cells = st.fixed_dictionaries({"cell_type": st.just("code") | values, "source": st.text(max_size=30) | values})


@settings(max_examples=200, deadline=None)
@given(st.fixed_dictionaries({"cells": st.lists(cells | values, max_size=4) | values}), st.text(max_size=40))
def test_any_json_and_any_text_are_read(content: object, text: str) -> None:
    facts_of(text)
    script_of(json.dumps(content))
    facts_of(json.dumps(content))
