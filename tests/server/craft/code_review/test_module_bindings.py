"""The lines of a module that give a name its value are shown with what they stand in."""

from __future__ import annotations

import pytest

from rolecall_server.craft.code_review.module_bindings import binding_lines

LONG = """\
import re
if re.escape("a"):
    import a
    import json
    import b
elif re:
    b = 1
else:
    b = 2
try:
    import os.path
    import b
except ImportError as json:
    b = 3
for i in range(3):
    with open(i) as json:
        b = 4


def other(json):
    json = 1
    return json


class Shop:
    json = 1


b = [json for json in ()]
del json
json += 1
"""


@pytest.mark.parametrize(
    ("text", "name", "shown"),
    [
        (LONG, "re", [1]),
        (LONG, "os", [10, 11, 13]),
        (LONG, "i", [15]),
        (LONG, "other", [20]),
        (LONG, "Shop", [25]),
        (LONG, "nowhere", []),
        ("def f(:\n", "f", []),
        ("match f():\n    case 1:\n        x = 1\n    case y:\n        z = 2\n", "x", [1, 2, 3, 4]),
    ],
)
def test_a_name_is_shown_where_the_module_gives_it_a_value(text: str, name: str, shown: list[int]) -> None:
    assert sorted(line + 1 for line in binding_lines(text, name)) == shown


def test_conditions_loops_and_handlers_around_it_are_shown_and_what_else_stands_in_them_is_not() -> None:
    shown = [LONG.splitlines()[line].strip() for line in sorted(binding_lines(LONG, "json"))]
    assert shown[:4] == ['if re.escape("a"):', "import json", "elif re:", "else:"]
    assert "except ImportError as json:" in shown
    assert "with open(i) as json:" in shown
    assert "del json" in shown
    assert "b = [json for json in ()]" not in shown
    assert "import a" not in shown
    assert "return json" not in shown
