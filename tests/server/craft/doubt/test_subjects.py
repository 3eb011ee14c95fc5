"""The callables that a brief is about follow from what its solutions change."""

from __future__ import annotations

from rolecall_server.craft.doubt.subjects import subjects_of

MODULE = """
def _cut(text):
    return text[:3]


def slug(text):
    return _cut(text).lower()


def page(text):
    return slug(text) + ".html"


def other(text):
    return text


class Names:
    def __init__(self, names):
        self.names = names

    def first(self):
        return self.names[0]

    def last(self):
        return self.names[-1]
"""


def test_what_rests_on_a_private_function_that_changes_is_run_the_nearest_first() -> None:
    assert subjects_of(MODULE, [MODULE.replace("[:3]", "[:4]"), MODULE]) == ("slug", "page")


def test_what_one_solution_changes_is_enough() -> None:
    assert subjects_of(MODULE, [MODULE, MODULE.replace("return text\n", "return text + text\n")]) == ("other",)


def test_what_a_solution_adds_is_run_where_all_have_it_with_the_same_parameters() -> None:
    added = MODULE + "\n\ndef short(text, limit):\n    return text[:limit]\n"
    renamed = added.replace("limit", "most")
    assert subjects_of(MODULE, [added, added]) == ("short",)
    assert subjects_of(MODULE, [added, renamed]) == ()
    assert subjects_of(MODULE, [added, MODULE]) == ()


def test_a_method_that_changes_is_run_and_its_neighbours_are_not() -> None:
    found = subjects_of(MODULE, [MODULE.replace("self.names[-1]", "self.names[-2]")] * 2)
    assert "Names.last" in found
    assert "Names.first" not in found


def test_a_module_that_is_new_is_run_as_a_whole() -> None:
    assert {"slug", "page", "other"} <= {*subjects_of("", [MODULE, MODULE])}


def test_where_nothing_changes_nothing_is_run() -> None:
    assert subjects_of(MODULE, [MODULE, MODULE]) == ()
