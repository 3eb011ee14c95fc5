"""The parts that the code reads of a parameter, and values that have them."""

from __future__ import annotations

import textwrap

from rolecall_server.craft.characterization.inputs.domains import ValueSources
from rolecall_server.craft.characterization.inputs.survey import survey
from rolecall_server.craft.characterization.inputs.usage.shaped_values import shaped_values
from rolecall_server.craft.characterization.inputs.usage.shapes import shapes_of


def values(text: str, name: str, parameter: str, *, mocks: bool = False) -> list[str]:
    known = survey(textwrap.dedent(text))
    target = next(one for one in (*known.targets, *known.private) if one.qualified_name == name)
    return shaped_values(shapes_of(known.tree, target)[parameter], ValueSources(known), mocks=mocks)


ANSWER = """
def places(response):
    if response.get("status") == "ZERO_RESULTS":
        return []
    return [named(place) for place in response["results"]]

def named(place):
    return place["name"].strip(), place["geometry"]["lat"] + 1
"""


def test_a_dictionary_has_the_keys_that_are_read_also_by_functions_that_get_a_part_of_it() -> None:
    first, *others = values(ANSWER, "places", "response")
    assert first == "{'status': 'ZERO_RESULTS', 'results': [{'name': '', 'geometry': {'lat': 0}}]}"
    assert any("'status': 'other'" in one for one in others)


def test_a_key_that_may_be_missing_is_and_a_list_may_be_empty_or_hold_two() -> None:
    tried = values(ANSWER, "places", "response")
    assert any("'status'" not in one for one in tried)
    assert any("'results': []" in one for one in tried)
    assert any(one.count("'geometry'") == 2 for one in tried)


def test_an_object_of_which_attributes_are_read_has_those_with_each_value_that_is_told_apart() -> None:
    tried = values(
        """
        def kind(node):
            if node.type in ("dir", "file") and node.size > 10:
                return node.type
            return None if node.parent is None else kind(node.parent)
        """,
        "kind",
        "node",
    )
    assert {f"SimpleNamespace(type={kind!r}, size=10, parent='a')" for kind in ("dir", "file")} <= set(tried)
    assert "SimpleNamespace(type='dir', size=10, parent=None)" in tried


def test_what_has_methods_of_its_own_is_a_mock_that_answers_with_what_is_read_of_the_answer() -> None:
    text = """
        def version(parser, default):
            options = parser.parse_args(["--version"])
            return options.version if options.verbose else default.lower()
    """
    assert values(text, "version", "parser") == []
    assert values(text, "version", "parser", mocks=True)[0] == (
        "MagicMock(**{'parse_args.return_value': SimpleNamespace(verbose=True, version='1.2.3')})"
    )
    assert values(text, "version", "default", mocks=True) == values(text, "version", "default") == []


def test_of_a_list_whose_items_are_asked_each_item_is_a_mock() -> None:
    text = """
        class Latest:
            def __init__(self, triggers):
                self.triggers = triggers

            def fire(self, now):
                times = [trigger.next_time(now) for trigger in self.triggers]
                return None if None in times else max(times)
    """
    assert "[MagicMock(**{'next_time.return_value': None})]" in values(text, "Latest", "triggers", mocks=True)


def test_a_class_reads_what_its_methods_and_those_of_the_classes_above_it_read() -> None:
    text = """
        class Base:
            def __init__(self, options):
                self._options = options

        class Table(Base):
            def width(self):
                return self._options["width"] * 2
    """
    assert values(text, "Table", "options")[0] == "{'width': 0}"


def test_a_value_that_has_too_many_parts_is_not_made() -> None:
    reads = " + ".join(f"given['{number}']" for number in range(30))
    assert values(f"def summed(given):\n    return {reads}\n", "summed", "given") == []


def test_a_function_that_calls_itself_is_read_once() -> None:
    text = """
        def depth(node):
            return 1 + max([depth(child) for child in node.children], default=0)
    """
    assert values(text, "depth", "node")[0] == "SimpleNamespace(children=['a'])"


def test_an_attribute_that_no_source_can_name_is_not_made() -> None:
    text = """
        def label(node):
            return getattr(node, "class", None) or getattr(node, "data-label", "") or node.text
    """
    assert values(text, "label", "node")[0] == "SimpleNamespace(text='')"


def test_what_is_looked_up_in_a_table_of_the_module_has_its_keys() -> None:
    text = """
        LEVELS = {"low": 1, "high": 2}
        KINDS = ("car", "bus")

        def level(order):
            if order.kind not in KINDS:
                raise ValueError(order.kind)
            return LEVELS.get(order.name, 0) + {7: 1}[order.number]
    """
    tried = values(text, "level", "order")
    assert {f"SimpleNamespace(kind={kind!r}, name='low', number=7)" for kind in ("car", "bus")} <= set(tried)
    assert "SimpleNamespace(kind='car', name='high', number=7)" in tried


def test_a_part_that_a_function_reads_in_a_form_has_values_of_that_form() -> None:
    text = """
        import json
        from urllib.parse import urlsplit

        def place(answer):
            return json.loads(answer.body.strip()), urlsplit(answer.there).netloc, answer.timezone
    """
    first = values(text, "place", "answer", mocks=False)[0]
    assert first.startswith("SimpleNamespace(body='{\"a\": 1}', there='https://example.com/")
    assert "timezone='UTC'" in first


def test_what_is_awaited_of_the_field_of_a_record_is_answered_so() -> None:
    text = """
        from dataclasses import dataclass

        @dataclass
        class Reader:
            stream: object

            async def word(self):
                found = await self.stream.receive()
                await self.stream.aclose()
                return "end" if found == "." else found.strip()
    """
    first = values(text, "Reader", "stream", mocks=True)[0]
    assert first == "MagicMock(aclose=AsyncMock(), receive=AsyncMock(return_value='.'))"
