"""The calls that are tried at first: each way of leaving out and giving what may be left out, on every object."""

from __future__ import annotations

import re
from random import Random

from rolecall_server.craft.characterization.inputs.call_forms import build_way
from rolecall_server.craft.characterization.inputs.calls import calls_of, examples_in
from rolecall_server.craft.characterization.inputs.domains import STRINGS, ValueSources
from rolecall_server.craft.characterization.inputs.survey import CallableParameter, survey
from rolecall_server.craft.characterization.observation import IN_REPOSITORY, CandidateCall
from rolecall_server.python_trees import parse_python

MODULE = survey(
    """
from typing import Optional


class Version:
    def __init__(self, n: int = 0) -> None:
        self.n = n

    def bumped(self, token: Optional[str] = "rc", sep: str = ".") -> str:
        return f"{self.n}{sep}{token}"

    def __lt__(self, other: "Version") -> bool:
        return self.n < other.n


def parse(text: str, strict: bool = False) -> str:
    return text if strict else text.strip()
"""
)
INSTANCES = tuple(f"Version({n})" for n in range(5))


def sources_of(name: str) -> set[str]:
    target = next(one for one in MODULE.targets if one.qualified_name == name)
    sources = ValueSources(MODULE, instances={"Version": INSTANCES})
    return {call.source for call in calls_of(target, sources, (), Random(0))}


def calls_of_function(text: str, name: str) -> list[CandidateCall]:
    known = survey(text)
    target = next(one for one in known.targets if one.qualified_name == name)
    return calls_of(target, ValueSources(known), (), Random(0))


def test_what_may_be_none_or_empty_is_that_on_every_object() -> None:
    tried = sources_of("Version.bumped")
    for given in ("", "token=None", "token=''", "sep=''"):
        assert {f"{one}.bumped({given})" for one in INSTANCES} <= tried


def test_a_method_without_a_parameter_that_must_be_given_is_tried_with_many_values_of_those_that_may() -> None:
    tried = sources_of("Version.bumped")
    assert all(any(f"token={text!r}" in source for source in tried) for text in STRINGS)


def test_a_flag_is_left_out_and_set_for_each_value() -> None:
    tried = sources_of("parse")
    assert {f"parse({text!r})" for text in STRINGS} <= tried
    assert {f"parse({text!r}, strict=True)" for text in STRINGS} <= tried


def test_an_operator_is_tried_on_each_pair_of_objects_and_on_what_it_does_not_know() -> None:
    tried = sources_of("Version.__lt__")
    assert {f"{one} < {other}" for one in INSTANCES for other in INSTANCES} <= tried
    assert any(source.endswith(" < None") for source in tried)


def test_a_parameter_that_must_be_given_has_other_values_too_where_many_may_be_left_out() -> None:
    left_out = ", ".join(f"option_{number}=None" for number in range(14))
    module = survey(f"class Lexer:\n    def highlight(self, source, language, {left_out}):\n        return language\n")
    (target,) = (one for one in module.targets if one.qualified_name == "Lexer.highlight")
    objects = tuple(f"Lexer({number})" for number in range(9))
    tried = calls_of(target, ValueSources(module, instances={"Lexer": objects}), (), Random(0))
    languages = {dict(zip(call.names, call.operands, strict=True))["language"] for call in tried}
    assert len(languages) > 5
    assert {"'abc'", "None"} <= languages
    assert "Lexer(0).highlight('abc', 'abc')" in {call.source for call in tried}, "and two that must be given together"


def test_a_function_called_by_the_name_of_a_property_is_no_use_of_the_property() -> None:
    module = survey("class Crontabs:\n    @property\n    def all(self):\n        return [*self.jobs]\n")
    target = next(one for one in module.targets if one.qualified_name == "Crontabs.all")
    examples = examples_in(parse_python("assert all([1, 2])"), module, IN_REPOSITORY)
    objects = {"Crontabs": ("Crontabs()",)}
    tried = calls_of(target, ValueSources(module, instances=objects), examples, Random(0))
    assert [call.source for call in tried] == ["Crontabs().all"]


def test_what_is_called_on_self_is_no_use_of_a_function_of_that_name() -> None:
    module = survey("def check(config, token):\n    return token in config\n")
    examples = examples_in(parse_python("self.check('- a', 'b')\ncheck('x', 'y')\n"), module, IN_REPOSITORY)
    tried = calls_of(module.targets[0], ValueSources(module), examples, Random(0))
    assert [call.source for call in tried if call.origin == IN_REPOSITORY] == ["check('x', 'y')"]
    assert not any("'- a'" in call.source for call in tried)


def test_what_takes_any_keywords_gets_those_that_it_reads_also_beside_several_values() -> None:
    text = """
def merge(*parts, **options):
    found = [part.decode() if isinstance(part, bytes) else str(part) for part in parts]
    text = options.get("joiner", "/").join(found)
    return text[:3] if options.get("limit") == 3 else text
"""
    sources = [call.source for call in calls_of_function(text, "merge")]
    assert "merge(limit=3)" in sources
    assert any(re.fullmatch(r"merge\(.+, .+, .+, limit=3\)", source) for source in sources), sources
    assert any(source.startswith("merge(b'") for source in sources)
    assert any("joiner=" in source for source in sources)


def test_a_call_of_a_special_method_elsewhere_is_an_operator() -> None:
    given = {"other": "-1", "more": "2"}
    parameters = [CallableParameter("other"), CallableParameter("more")]
    one = build_way("engine.Engine.__ne__", parameters[:1], given, "Engine()", ())
    two = build_way("engine.Engine.__pow__", parameters, given, "Engine()", ())
    none = build_way("engine.Engine.__len__", (), given, "Engine()", ())
    other = build_way("engine.Engine.__hash__", (), given, "Engine()", ())
    assert [call.source for call in (one, two, none, other)] == [
        "Engine() != (-1)",
        "Engine().__pow__((-1), (2))",
        "len(Engine())",
        "Engine().__hash__()",
    ]
