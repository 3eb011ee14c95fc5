"""Which file a block is about: the one its line names, or nobody's."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rolecall_server.craft.edits.edit_blocks import Edited, apply_edit_blocks, parse_edit_blocks
from rolecall_server.craft.edits.replies import EditBlock, prose_of, text_beside_edits
from support.edits import block

BODY = "<<<<<<< SEARCH\nold\n=======\nnew\n>>>>>>> REPLACE\n"
OTHER = "FILE: other.py\n" + BODY


def edited(reply: str, **files: str) -> Edited:
    texts = {"other.py": "old\nold enough\n", **files}
    return apply_edit_blocks(parse_edit_blocks(reply), texts.get)


def paths_in(reply: str) -> list[str]:
    return [step.path for step in parse_edit_blocks(reply) if isinstance(step, EditBlock) and not step.fault]


@pytest.mark.parametrize(
    ("line", "path"),
    [
        ("FILE: Makefile", "Makefile"),
        ("FILE: LICENSE", "LICENSE"),
        ("FILE: CHANGELOG", "CHANGELOG"),
        ("FILE: ./Makefile", "Makefile"),
        ("FILE: .gitignore", ".gitignore"),
        ("FILE: docs/Read me first.md", "docs/Read me first.md"),
        ("FILE: Read Me", "Read Me"),
        ("FILE: größe/データ.py", "größe/データ.py"),
        ("FILE: `Makefile`", "Makefile"),
        ('FILE: "Makefile"', "Makefile"),
        ("FILE: 'Makefile'", "Makefile"),
        ("FILE: `a.py` (new file)", "a.py"),
        ('FILE: "a.py (new)"', "a.py (new)"),
        ("**FILE: Makefile**", "Makefile"),
        ("**FILE:** `Makefile`", "Makefile"),
        ("FILE: **Makefile**", "Makefile"),
        ("### FILE: Makefile", "Makefile"),
        ("- FILE: Makefile", "Makefile"),
        ("2. FILE: Makefile", "Makefile"),
        ("> FILE: Makefile", "Makefile"),
        ("`FILE: Makefile`", "Makefile"),
        ("file: Makefile", "Makefile"),
        ("File path: src/x.py", "src/x.py"),
        ("FILE: __init__.py", "__init__.py"),
        ("FILE: #notes#", "#notes#"),
        ("FILE: src//./x.py", "src/x.py"),
        ("FILE: Makefile\r", "Makefile"),
        ("src/x.py", "src/x.py"),
        ("**src/x.py**", "src/x.py"),
        ("`src/x.py`:", "src/x.py"),
        ("#### 1. `src/x.py`", "src/x.py"),
        ("`docs/my notes.md`", "docs/my notes.md"),
        (".gitignore", ".gitignore"),
        ("FILE:\nsrc/x.py", "src/x.py"),
        ("FILE: a.py\n\nIt mirrors `b.py`, as said.\n", "a.py"),
        ("FILE: a.py\n```python", "a.py"),
        ("FILE: b.py\n\nFILE: a.py", "a.py"),
    ],
)
def test_a_line_names_exactly_its_own_file(line: str, path: str) -> None:
    assert paths_in(f"{OTHER}\n{line}\n{BODY}") == ["other.py", path]
    assert paths_in(f"{line}\n{BODY}") == [path]


@pytest.mark.parametrize(
    "line",
    [
        "FILE:",
        "FILE: /etc/passwd",
        "FILE: C:\\x.py",
        "FILE: ../x.py",
        "FILE: src/../../x.py",
        "FILE: src/",
        "FILE: .",
        "FILE: a\x1fb.py",
        "FILE: ``",
        "Makefile",
        "`Makefile`",
        "**Makefile**",
        "### Makefile",
        "FILE Makefile",
        "FILE - Makefile",
        "New file: Makefile",
        "In `Makefile`:",
        "And in `src/x.py`, it is the same:",
        "In src/x.py it has to change as well.",
        "--- Makefile",
        "[src/x.py]",
        "```python src/x.py",
        '<file name="src/x.py">',
        "DELETE FILE: gone.py",
        "RENAME FILE: a.py to b.py",
        "FILE: a.py\nFILE b.py",
        "FILE: a.py\n`b.py`",
        "FILE: /etc/passwd\n\nMore of it:",
    ],
)
def test_a_block_whose_file_cannot_be_read_lands_nowhere_and_carries_the_reason(line: str) -> None:
    reply = f"{OTHER}\n{line}\n{BODY.replace('old', 'old enough')}"
    assert edited(reply).files == {"other.py": "new\nold enough\n"}
    assert edited(reply).problems
    assert edited(f"{line}\n{BODY}").files == {}


@pytest.mark.parametrize(
    "between",
    [
        "",
        "\n\n",
        "```\n\n```python\n",
        "And it has to grow:\n",
        "Then `old` itself:\n",
        "### `old`\n",
        "The rest of other.py follows.\n",
        "---\n",
        "See e.g. 3.5 and/or the like, i.e. both.\n",
    ],
)
def test_blocks_below_one_line_are_about_its_file(between: str) -> None:
    reply = f"{OTHER}{between}{BODY}"
    assert paths_in(reply) == ["other.py", "other.py"]


def test_what_follows_a_block_without_a_file_is_not_the_file_before() -> None:
    assert paths_in(f"{OTHER}FILE: ../x.py\n{BODY}{BODY}") == ["other.py"]
    assert paths_in(f"{OTHER}DELETE FILE: gone.py\n{BODY}") == ["other.py"]


@pytest.mark.parametrize("line", ["FILE: a.py (new)", "FILE: a.py, b.py", "FILE: a.py - new", "FILE: src\\new.py"])
def test_no_file_is_made_under_a_name_that_may_be_more_than_a_name(line: str) -> None:
    (problem,) = edited(f"{line}\n<<<<<<< SEARCH\n=======\nnew\n>>>>>>> REPLACE\n").problems
    assert "Write the path alone on the `FILE:` line" in problem.reason


def test_a_file_that_exists_is_meant_whatever_its_name_looks_like() -> None:
    assert edited(f"FILE: a.py (new)\n{BODY}", **{"a.py (new)": "old\n"}).files == {"a.py (new)": "new\n"}
    assert edited(f"FILE: src\\x.py\n{BODY}", **{"src/x.py": "old\n"}).files == {"src/x.py": "new\n"}
    both = edited(f"FILE: src\\x.py\n{BODY}", **{"src/x.py": "old\n", "src\\x.py": "old\n"})
    assert both.files == {"src\\x.py": "new\n"}


# What stands in a block


def test_lines_in_a_block_name_nothing() -> None:
    text = "FILE: b.py\nDELETE FILE: other.py\n"
    assert edited(block("a.py", "", text)).files == {"a.py": text}


def test_a_whole_block_within_a_text_is_text() -> None:
    text = f"An example:\n\n{OTHER}\nand so on\n"
    assert edited(block("a.md", "", text)).files == {"a.md": text}


def test_markers_of_nine_signs_hold_any_text() -> None:
    text = "<<<<<<< SEARCH\n=======\nmine\n>>>>>>> REPLACE\n>>>>>>> REPLACE\nFILE: other.py\n"
    reply = f"FILE: a.md\n<<<<<<<<< SEARCH\n{text}=========\n{text}{text}>>>>>>>>> REPLACE\n"
    assert edited(reply, **{"a.md": text}).files == {"a.md": text + text}


@pytest.mark.parametrize(
    ("reply", "n_asked"),
    [
        ("FILE: other.py\n<<<<<<< SEARCH\nold\n=======\nnew\n", 1),
        ("FILE: other.py\n<<<<<<< SEARCH\nold\n=======\nnew\n\n" + OTHER, 2),
        ("FILE: a.md\n<<<<<<< SEARCH\n=======\n<<<<<<< SEARCH\n>>>>>>> REPLACE\n", 2),
        ("FILE: a.md\n<<<<<<< SEARCH\n=======\nx\n>>>>>>> REPLACE\ny\n>>>>>>> REPLACE\n", 1),
        ("FILE: other.py\nold\n=======\nnew\n>>>>>>> REPLACE\n", 1),
        ("FILE: other.py\n<<<<<<< HEAD\nold\n=======\nnew\n>>>>>>> theirs\n", 1),
        ("<<<<<<< SEARCH other.py\nold\n=======\nnew\n>>>>>>> REPLACE\n", 1),
    ],
)
def test_a_block_whose_end_or_beginning_is_not_certain_is_not_applied(reply: str, n_asked: int) -> None:
    assert edited(reply).files == {}
    assert len(edited(reply).problems) == n_asked


def test_the_blocks_around_one_that_cannot_be_read_are_applied() -> None:
    lost = "FILE: lost.py\n<<<<<<< SEARCH\nold\n=======\nnew\n"
    result = edited(
        f"FILE: a.py\n{BODY}{lost}FILE: b.py\n{BODY}{BODY}FILE: c.py\n{BODY}",
        **dict.fromkeys(["a.py", "b.py", "c.py"], "old\n"),
    )
    assert set(result.files) == {"a.py", "c.py"}
    assert [problem.blocks for problem in result.problems] == [(2,), (3,), (4,)]


def test_a_repeated_end_marker_ends_nothing_more() -> None:
    assert edited(f"{OTHER}\n```\n>>>>>>> REPLACE\n").files == {"other.py": "new\nold enough\n"}


def test_a_reply_with_the_endings_of_windows_is_read_alike() -> None:
    assert edited(OTHER.replace("\n", "\r\n")).files == {"other.py": "new\nold enough\n"}


# What is said beside the edits


def test_what_is_said_stands_outside_the_blocks() -> None:
    reply = f"Finding: a.py: wrong.\n\n{block('a.md', '', OTHER)}ANSWER F1: fixed: so\n"
    assert text_beside_edits(reply) == "Finding: a.py: wrong.\n\nFILE: a.md\nANSWER F1: fixed: so\n"
    assert prose_of(reply) == "Finding: a.py: wrong."


def test_a_path_alone_above_the_first_block_is_no_part_of_what_is_said() -> None:
    assert prose_of(f"I sum exactly.\n\n### `shop/price.py`\n{BODY}") == "I sum exactly."
    assert prose_of(f"I move it.\n\nDELETE FILE: a.py\n{BODY}") == "I move it."


# Whatever a model writes


NAMES = st.one_of(
    st.sampled_from(
        ["Makefile", "LICENSE", "a.py", "src/x.py", ".env", "my notes.txt", "größe.md", "a", "a b", "v1.2"]
    ),
    st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"]), min_size=1, max_size=12),
)
NOISE = st.one_of(
    st.sampled_from(
        [
            "",
            "And then:",
            "In `Makefile`:",
            "src/x.py",
            "`a.py`",
            "### LICENSE",
            "```python",
            "FILE",
            "FILE:",
            "FILE a.py",
            "New file: .env",
            "=======",
            ">>>>>>> REPLACE",
            "DELETE FILE",
            "Path: it is a b.",
        ]
    ),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=30),
)
BODIES = st.sampled_from(
    [
        BODY,
        "<<<<<<< SEARCH\n=======\nmore\n>>>>>>> REPLACE\n",
        "<<<<<<< SEARCH\nFILE: a.py\n=======\nFILE: LICENSE\n>>>>>>> REPLACE\n",
        f"<<<<<<< SEARCH\n=======\nFILE: Makefile\n{BODY}>>>>>>> REPLACE\n",
        "<<<<<<< SEARCH\nold\n=======\nFILE: src/x.py\n",
    ]
)


def spellings(name: str) -> set[str]:
    """What a person may read in *name*: as it is, or without what dresses it up."""
    plain = name.strip(" \t")
    found = {name, plain, plain.strip("*`\"' :"), plain.rstrip(":")}
    found |= {one.replace("\\", "/") for one in found}
    return found | {"/".join(part for part in one.split("/") if part not in ("", ".")) for one in found}


@given(
    st.lists(st.tuples(st.one_of(st.none(), NAMES), st.lists(NOISE, max_size=2), BODIES), max_size=5),
    st.sampled_from(["{}", "`{}`", "**{}**", '"{}"']),
)
@example([("a.py", [], BODY), ("Makefile", [], BODY)], "{}")
@example([(None, ["#0/0"], BODY)], "{}")
def test_no_file_changes_that_no_block_names(blocks: list[tuple[str | None, list[str], str]], dress: str) -> None:
    """The files are known from how the reply is made, not from reading it: noise may name those of `NOISE` as well."""
    named: set[str] = set()
    reply = ""
    for name, noise, body in blocks:
        reply += f"FILE: {dress.format(name)}\n" if name is not None else ""
        reply += "".join(f"{line}\n" for line in noise) + body
        named |= spellings(name) | spellings(dress.format(name)) if name is not None else set()
        told = [line.rpartition(":")[2] for line in noise]
        named |= {spelling for line in told for spelling in spellings(line) | spellings(line.strip("#`* "))}
    result = apply_edit_blocks(parse_edit_blocks(reply), lambda path: "old\nFILE: a.py\n")
    assert set(result.files) <= named


@given(NAMES)
def test_any_name_without_control_characters_is_read_as_it_is_or_asked_about(name: str) -> None:
    result = apply_edit_blocks(parse_edit_blocks(f"{OTHER}FILE: {name}\n{BODY}"), lambda path: "old\n")
    assert set(result.files) - {"other.py"} <= spellings(name)
    assert len(result.files) + len(result.problems) == 2 or name.strip(" \t") == "other.py"


@given(st.text(st.characters(categories=["L", "N", "So", "Sc"]), min_size=1, max_size=12), st.sampled_from("`\"'"))
def test_a_name_in_quotes_is_read_as_it_is(name: str, quote: str) -> None:
    assert not any(unicodedata.category(one) == "Cc" for one in name)
    assert paths_in(f"{OTHER}FILE: {quote}{name}{quote}\n{BODY}")[1:] == [name]
