"""A question shows the input and the answers side by side; its answer is an example that must hold."""

from __future__ import annotations

from rolecall_server.craft.characterization import CandidateCall, Observation
from rolecall_server.craft.doubt.disagreement import Behaviour
from rolecall_server.craft.doubt.question import DoubtQuestion, describe, question_about
from rolecall_server.craft.doubt.solutions import ShortSolution

CALL = CandidateCall("slug", "slug({0}, {1})", ("'Ab cd'", "4"), ("text", "limit"))
OTHER = CandidateCall("slug", "slug({0}, {1})", ("''", "4"), ("text", "limit"))
INSERT = CandidateCall("Names.insert", "{0}.insert({1})", ("Names(['a'])", "'a'"), ("names", "item"))


NO_READINGS = [ShortSolution("", {})] * 2


def gives(literal: str) -> Observation:
    return Observation("value", "str", (("{}", literal),))


def asked(*readings: str) -> DoubtQuestion:
    behaviours = [Behaviour((0,), {CALL: gives("'ab-c'")}), Behaviour((1, 2), {CALL: gives("'ab'")})]
    return question_about(behaviours, [ShortSolution(reading, {}) for reading in readings])


def test_the_question_shows_the_input_and_each_answer_with_its_reading() -> None:
    question = asked("words are cut", "", "whole words")
    assert question.title == "The brief leaves open what `slug('Ab cd', 4)` shall do. Which do you want?"
    assert [one.text for one in question.options] == ["`'ab-c'` (words are cut)", "`'ab'` (whole words)"]
    assert [one.text for one in asked("", "", "").options] == ["`'ab-c'`", "`'ab'`"]


def test_of_several_inputs_each_answer_says_what_each_gives() -> None:
    told = [{CALL: gives("'a'"), OTHER: gives("''")}, {CALL: gives("'b'"), OTHER: gives("'-'")}]
    question = question_about([Behaviour((0,), told[0]), Behaviour((1,), told[1])], [ShortSolution("", {})] * 2)
    assert question.calls == "`slug('Ab cd', 4)` and `slug('', 4)`"
    assert question.options[1].text == "`slug('Ab cd', 4)`: `'b'`; `slug('', 4)`: `'-'`"


def test_the_engineer_is_told_the_answer_as_an_example_that_must_hold() -> None:
    question = asked("words are cut", "whole words", "")
    assert question.told("`'ab'` (whole words)") == (
        "The brief leaves open what `slug('Ab cd', 4)` shall do. The developer was asked, and wants this:\n\n"
        "- `slug('Ab cd', 4)`: `'ab'`\n  (whole words)\n\n"
        "It must hold, a test must show it, and what is like it must be handled alike."
    )


def test_silence_takes_the_likeliest_and_says_so() -> None:
    told = asked("words are cut", "whole words", "").told("")
    assert "did not answer, so the likeliest holds" in told
    assert "- `slug('Ab cd', 4)`: `'ab-c'`" in told


def test_an_answer_in_words_of_the_developers_own_is_passed_on() -> None:
    assert asked("", "", "").told("raise an error").endswith("The developer was asked, and answered: raise an error")


def test_an_end_is_told_by_what_came_back_what_was_raised_and_what_changed() -> None:
    assert describe(CALL, gives("'a'")) == "`'a'`"
    assert describe(CALL, Observation("raises", "ValueError", message="too short")) == "raises ValueError, `too short`"
    assert describe(CALL, Observation("value", "int", (("{}", "1"),), printed="x\n")) == "`1`; prints `'x\\n'`"
    changed = Observation("value", "NoneType", (("{}", "None"),), ((0, (("list({})", "['a', 'a']"),)),))
    assert describe(INSERT, changed) == "afterwards `list(names)` is `['a', 'a']`"
    whole = Observation("value", "Colour", (("{}.red", "1"), ("{}.blue", "2")))
    assert describe(CALL, whole) == "`it.red` is `1` and `it.blue` is `2`"


def test_a_call_is_written_as_a_person_would() -> None:
    call = CandidateCall("Names.insert", "{0}.insert({1})", ("Names(['a'])", "0"), ("names", "item"))
    found = question_about([Behaviour((0,), {call: gives("1")}), Behaviour((1,), {call: gives("2")})], NO_READINGS)
    assert found.calls == "`Names(['a']).insert(0)`"


def test_where_one_solution_changes_something_the_other_is_said_to_change_nothing() -> None:
    nothing = Observation("value", "NoneType", (("{}", "None"),))
    moved = Observation("value", "NoneType", (("{}", "None"),), ((0, (("list({})", "['a']"),)),))
    found = question_about([Behaviour((0,), {INSERT: nothing}), Behaviour((1,), {INSERT: moved})], NO_READINGS)
    assert [one.text for one in found.options] == ["changes nothing", "afterwards `list(names)` is `['a']`"]


def test_of_an_object_that_cannot_be_written_down_four_things_are_told() -> None:
    views = tuple((f"{{}}.part{number}", "1") for number in range(9))
    told = describe(CALL, Observation("value", "Thing", views))
    assert told.count(" is ") == 4
    assert told.endswith(", and more")


def test_a_long_value_is_cut() -> None:
    assert len(describe(CALL, gives(repr("a" * 5000)))) < 400
