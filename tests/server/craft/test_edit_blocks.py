"""What models write as edits, and what becomes of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolecall_server.craft.edits.edit_blocks import Edited, apply_edit_blocks, parse_edit_blocks
from support.edits import block

FILES = {
    "shop/price.py": "import math\n\n\ndef total(items):\n    return sum(items)\n\n\ndef tax(items):\n    return 0\n",
    "docs/notes.rst": "Notes\n=======\n\nfirst\n",
}


def edited(reply: str, files: dict[str, str] = FILES) -> Edited:
    return apply_edit_blocks(parse_edit_blocks(reply), files.get)


def price(reply: str) -> str:
    """The text that `shop/price.py` has after *reply*."""
    return edited(reply).files["shop/price.py"] or ""


def test_a_block_replaces_the_lines_it_names() -> None:
    result = edited(
        "I sum exactly.\n\n" + block("shop/price.py", "    return sum(items)\n", "    return math.fsum(items)\n")
    )
    assert result.files["shop/price.py"] == FILES["shop/price.py"].replace("sum(items)", "math.fsum(items)")
    assert not result.problems


def test_an_empty_search_creates_a_file() -> None:
    assert edited(block("shop/new.py", "", "x = 1\n")).files == {"shop/new.py": "x = 1\n"}


def test_an_empty_search_adds_to_the_end_of_a_file_that_exists() -> None:
    result = edited(block("shop/price.py", "", "def more():\n    return 1\n"))
    assert result.files["shop/price.py"] == FILES["shop/price.py"] + "\n\ndef more():\n    return 1\n"


@pytest.mark.parametrize(("path", "is_before"), [("tests/test_a.py", True), ("notes.txt", False)])
def test_what_is_added_to_python_comes_before_what_runs_as_a_script(path: str, is_before: bool) -> None:
    tests, script = "def test_a():\n    pass\n", "if __name__ == '__main__':\n    unittest.main()\n"
    new = "def test_b():\n    pass\n"
    found = edited(block(path, "", new), {path: f"{tests}\n\n{script}"}).files[path]
    assert found == "\n\n".join([tests, new, script] if is_before else [tests, script, new])


def test_blocks_apply_in_order_each_on_the_result_of_the_one_before() -> None:
    reply = block("a.py", "", "x = 1\n") + block("a.py", "x = 1\n", "x = 2\n")
    assert edited(reply, {}).files == {"a.py": "x = 2\n"}


@pytest.mark.parametrize(
    "heading",
    [
        "FILE: shop/price.py",
        "**FILE: shop/price.py**",
        "### `shop/price.py`",
        "shop/price.py",
        "File: ./shop/price.py",
        "FILE: shop/price.py\n```python",
    ],
)
def test_the_path_is_read_however_it_is_dressed_up(heading: str) -> None:
    reply = f"{heading}\n<<<<<<< SEARCH\n    return 0\n=======\n    return 1\n>>>>>>> REPLACE\n```\n"
    assert price(reply).endswith("return 1\n")


def test_a_block_without_a_path_belongs_to_the_file_of_the_one_before() -> None:
    reply = (
        block("shop/price.py", "import math\n", "import cmath\n")
        + "<<<<<<< SEARCH\n    return 0\n=======\n    return 1\n>>>>>>> REPLACE\n"
    )
    assert price(reply).endswith("return 1\n")


def test_trailing_space_and_another_indentation_are_tolerated() -> None:
    assert price(block("shop/price.py", "    return 0   \n", "    return 1\n")).endswith("    return 1\n")
    shifted = edited(block("shop/price.py", "def tax(items):\n  return 0\n", "")).problems
    assert shifted, "lines that differ by unequal indentation are not the same lines"
    dedented = price(block("shop/price.py", "return sum(items)\n", "if items:\n    return 1\nreturn 0\n"))
    assert "    if items:\n        return 1\n    return 0\n" in dedented


def test_a_search_that_matches_twice_is_refused_with_the_places() -> None:
    problem = edited(block("a.py", "x = 1\n", "x = 2\n"), {"a.py": "x = 1\ny = 0\nx = 1\n"}).problems[0]
    assert "matches 2 places in a.py (lines 1, 3)" in problem.reason


def test_a_search_that_matches_nothing_is_answered_with_the_nearest_lines() -> None:
    problem = edited(block("shop/price.py", "def totals(items):\n    return 1\n", "")).problems[0]
    assert "nearest lines are (from line 4):\ndef total(items):" in problem.reason


def test_a_line_of_equals_signs_in_the_searched_text_is_not_taken_for_the_divider() -> None:
    result = edited(block("docs/notes.rst", "Notes\n=======\n\nfirst\n", "Notes\n=======\n\nsecond\n"))
    assert result.files["docs/notes.rst"] == "Notes\n=======\n\nsecond\n"


def test_a_forgotten_divider_is_a_problem_in_words() -> None:
    assert (
        "no `=======` line"
        in edited("FILE: a.py\n<<<<<<< SEARCH\nx\n>>>>>>> REPLACE\n", {"a.py": "x\n"}).problems[0].reason
    )


def test_a_missing_file_can_not_be_searched() -> None:
    assert "does not exist" in edited(block("gone.py", "x\n", "y\n")).problems[0].reason


def test_windows_line_endings_in_the_file_are_matched() -> None:
    result = edited(block("a.py", "x = 1\n", "x = 2\n"), {"a.py": "x = 1\r\ny = 1\r\n"})
    assert result.files["a.py"] == "x = 2\ny = 1\r\n"


def test_prose_without_blocks_is_no_edit() -> None:
    assert parse_edit_blocks("I would change `total`.\n\n```python\ndef total(): ...\n```\n") == ()


@given(st.text(alphabet=st.sampled_from("<>=# SEARCHREPLACEFIL:\n`x.py"), max_size=300))
def test_no_reply_breaks_the_parser(reply: str) -> None:
    edited(reply, {"x.py": "x = 1\n"})


# Files as a whole


def test_a_file_is_deleted_by_a_line_of_its_own() -> None:
    result = edited("It has no use.\n\nDELETE FILE: shop/price.py\n")
    assert (result.files, result.renames, result.problems) == ({"shop/price.py": None}, {}, ())


@pytest.mark.parametrize("arrow", ["->", "=>", "→"])
def test_a_renamed_file_is_edited_under_its_new_name(arrow: str) -> None:
    result = edited(
        f"RENAME FILE: shop/price.py {arrow} `shop/cost.py`\n\n"
        + block("shop/cost.py", "import math\n", "import cmath\n")
    )
    text = FILES["shop/price.py"].replace("import math", "import cmath")
    assert result.files == {"shop/price.py": None, "shop/cost.py": text}
    assert result.renames == {"shop/price.py": "shop/cost.py"}


def test_a_block_below_a_rename_without_a_path_belongs_to_the_new_name() -> None:
    reply = "RENAME FILE: shop/price.py -> shop/cost.py\n<<<<<<< SEARCH\nimport math\n=======\n>>>>>>> REPLACE\n"
    assert edited(reply).files["shop/cost.py"] == FILES["shop/price.py"].removeprefix("import math\n")


def test_an_edit_under_the_old_name_is_told_the_new_one() -> None:
    reply = "RENAME FILE: shop/price.py -> shop/cost.py\n" + block("shop/price.py", "import math\n", "")
    (problem,) = edited(reply).problems
    assert problem.reason == "shop/price.py is shop/cost.py by now; name it so."


def test_a_rename_of_a_rename_is_one() -> None:
    result = edited("RENAME FILE: shop/price.py -> a.py\nRENAME FILE: a.py -> b.py\n")
    assert result.renames == {"shop/price.py": "b.py"}
    assert result.files == {"shop/price.py": None, "a.py": None, "b.py": FILES["shop/price.py"]}


def test_a_file_that_is_renamed_and_deleted_is_gone() -> None:
    result = edited("RENAME FILE: shop/price.py -> a.py\nDELETE FILE: a.py\n")
    assert (result.files, result.renames) == ({"shop/price.py": None, "a.py": None}, {})


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        ("DELETE FILE: nowhere.py", "nowhere.py does not exist, so it cannot be deleted."),
        ("RENAME FILE: nowhere.py -> a.py", "nowhere.py does not exist, so it cannot be renamed."),
        (
            "RENAME FILE: shop/price.py -> docs/notes.rst",
            "docs/notes.rst exists, so shop/price.py cannot get its name.",
        ),
    ],
)
def test_what_cannot_be_moved_is_a_problem_and_changes_nothing(reply: str, why: str) -> None:
    result = edited(reply)
    assert [problem.reason for problem in result.problems] == [why]
    assert not result.files


def test_such_a_line_inside_a_block_is_text() -> None:
    result = edited(block("shop/new.py", "", "DELETE FILE: shop/price.py\n"))
    assert result.files == {"shop/new.py": "DELETE FILE: shop/price.py\n"}
