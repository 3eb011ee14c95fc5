"""Arguments that are objects of the repository, made as its own code makes them."""

from __future__ import annotations

import ast
import subprocess
import sys
import textwrap
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from rolecall_server.craft.characterization import (
    CandidateCall,
    HouseStyle,
    NearbyModule,
    Observation,
    Stage,
    Study,
    Subject,
    study,
    write_test_file,
)
from rolecall_server.craft.characterization.execution import Observed, observe
from rolecall_server.craft.characterization.inputs.neighbours import attributes_of, neighbourhood
from rolecall_server.craft.characterization.inputs.survey import survey
from rolecall_server.craft.characterization.inputs.usage.kinship import kin_of
from rolecall_server.craft.characterization.text.grouping import group

StageOf = Callable[..., Awaitable[Stage]]

WORDS = textwrap.dedent(
    '''
    class Word:
        def __init__(self, kind, text):
            if kind not in ("name", "number"):
                raise ValueError(kind)
            self.kind = kind
            self.text = text
            self.marks = []


    class Sentence:
        def __init__(self, words):
            self.words = words


    def read(text):
        """Read a sentence.

        >>> read("one 2").words[1].kind
        'number'
        """
        return Sentence([Word("number" if one.isdigit() else "name", one) for one in text.split()])
    '''
)
THING = textwrap.dedent(
    """
    def is_long(word):
        if word.kind == "number":
            return False
        return len(word.text) > 3


    def mark(word, mark="!"):
        word.marks.append(mark)


    def count(sentence):
        return sum(one.kind == "number" for one in sentence.words)
    """
)


async def studied(stage_of: StageOf, thing: str = THING, **around: str) -> Study:
    neighbours = [NearbyModule(name, ast.parse(text)) for name, text in around.items()]
    subject = Subject(thing, neighbours=neighbours, budget_s=1.0)
    found = await study(await stage_of(thing, **around), subject, lambda *_: None)
    assert isinstance(found, Study), found
    return found


async def test_a_parameter_without_a_type_gets_what_the_repository_makes_for_it(
    stage_of: StageOf, tmp_path: Path
) -> None:
    found = await studied(stage_of, words=WORDS)
    calls = {call.source for call in found.cases}
    assert any(call.startswith("is_long(read(") and ".words[" in call for call in calls), calls
    assert any(call.startswith("count(read(") for call in calls), calls
    assert not found.left_out
    text = write_test_file(found, "thing", HouseStyle())
    assert text is not None
    assert "from words import read\n" in text
    (tmp_path / "test_thing.py").write_text(text)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", "/dev/null", "test_thing.py"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + text


async def test_the_same_module_gives_the_same_cases(stage_of: StageOf) -> None:
    first, second = [await studied(stage_of, words=WORDS) for _ in range(2)]
    assert list(first.cases) == list(second.cases)


async def test_what_a_call_changes_of_an_object_is_asserted_and_nothing_else_of_it(stage_of: StageOf) -> None:
    found = await studied(stage_of, words=WORDS)
    effects = {seen.effects for call, seen in found.cases.items() if call.target == "mark"}
    templates = {template for seen in effects for _, views in seen for template, _ in views}
    assert templates == {"len({}.marks)", "{}.marks[0]"}


async def test_a_value_that_somebody_passes_is_tried_where_the_rest_of_the_call_cannot_be(stage_of: StageOf) -> None:
    using = "import thing\n\n\ndef use(x):\n    return thing.scaled(x, 7919)\n"
    found = await studied(stage_of, "def scaled(x: int, by):\n    return by == 7919 and x\n", using=using)
    assert any("7919" in call.source for call in found.cases)


async def test_the_objects_that_a_result_holds_are_told_with_how_they_are_reached(stage_of: StageOf) -> None:
    stage = await stage_of(WORDS)
    call = CandidateCall("read", "read({0})", ("'one 2'",), ("text",))
    seen = await observe(stage, [call], trace=False, harvest=True)
    assert isinstance(seen, Observed)
    parts = [(template, kind) for template, kind, _ in seen.observations[call].parts]
    assert parts == [("{}", "Sentence"), ("{}.words[0]", "Word"), ("{}.words[1]", "Word")]


async def test_an_object_of_which_nothing_can_be_read_is_told_by_its_type(stage_of: StageOf) -> None:
    found = await studied(stage_of, "class Empty:\n    pass\n\n\ndef make():\n    return Empty()\n")
    assert {seen.views for seen in found.cases.values()} == {(("isinstance({}, Empty)", "True"),)}


async def test_an_element_is_built_from_text_and_told_as_text(stage_of: StageOf) -> None:
    text = textwrap.dedent(
        """
        import xml.etree.ElementTree as etree


        def wrap(inner: etree.Element):
            inner.tag = "b"
            return inner
        """
    )
    found = await studied(stage_of, text)
    views = {view for seen in found.cases.values() for view in seen.views}
    assert ("tostring({}, 'unicode')", "'<b />'") in views
    written = write_test_file(found, "thing", HouseStyle())
    assert written is not None
    assert "from xml.etree.ElementTree import fromstring, tostring\n" in written


@pytest.mark.parametrize(
    ("parameter", "classes"),
    [("word", ["Word"]), ("last_word", ["Word"]), ("other", ["Sentence"]), ("text", []), ("words", [])],
)
def test_a_class_is_likely_by_the_name_of_a_parameter_or_by_what_is_used_of_it(
    parameter: str, classes: list[str]
) -> None:
    known = survey(WORDS)
    uses = survey("def use(word, last_word, other, text, words):\n    return other.words, text.strip()\n")
    attributes = {name: attributes_of(node, known.classes) for name, node in known.classes.items()}
    target = uses.targets[0]
    given = next(one for one in target.parameters if one.name == parameter)
    assert kin_of(target, given, attributes) == classes


def test_of_two_modules_with_one_name_the_nearer_one_offers_it_and_the_module_itself_comes_first() -> None:
    own = survey("import json\n\n\ndef mine():\n    return 1\n")
    near = NearbyModule("near", ast.parse("def mine(): pass\n\n\ndef both(): pass\n\n\ndef _private(): pass\n"))
    far = NearbyModule(
        "far", ast.parse("from near import both\n\n\nclass both: pass\n\n\ndef far_one(x, *, y=1): pass\n")
    )
    around = neighbourhood(own, [near, far])
    assert around.sources == {"both": "near", "far_one": "far"}
    assert [one.qualified_name for one in around.builders] == ["both", "far_one"]


async def test_an_exception_that_is_called_like_one_of_pythons_own_is_imported(
    stage_of: StageOf, tmp_path: Path
) -> None:
    errors = "class SyntaxError(Exception):\n    pass\n"
    thing = "import errors\n\n\ndef read(text: str) -> str:\n    raise errors.SyntaxError(text)\n"
    text = write_test_file(await studied(stage_of, thing, errors=errors), "thing", HouseStyle())
    assert text is not None
    assert "from errors import SyntaxError\n" in text
    (tmp_path / "test_thing.py").write_text(text)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", "/dev/null", "test_thing.py"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + text


def test_calls_that_are_refused_are_one_test_whatever_they_changed_before() -> None:
    calls = [CandidateCall("f", "f({0})", (operand,), ("x",)) for operand in ("[1]", "[2]")]
    effects = (((0, (("{}", "[]"),)),), ())
    seen = [
        Observation("raises", "ValueError", exception_module="builtins", deliberate=True, effects=changed)
        for changed in effects
    ]
    groups = group(dict(zip(calls, seen, strict=True)), ())
    assert [(one.name, one.n_cases, one.effects) for one in groups] == [("f_raises_value_error", 2, ())]
