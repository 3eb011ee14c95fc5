"""Calls recorded while the workspace's own tests and documents run, and the tests that are made of them."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from rolecall_server.craft.characterization import HouseStyle, Stage, Study, Subject, study, write_test_file
from rolecall_server.craft.characterization.inputs.documents import pieces_in
from rolecall_server.craft.characterization.inputs.preparation import unrolled
from rolecall_server.craft.characterization.inputs.survey import survey
from rolecall_server.craft.characterization.recording import Recording, record

StageOf = Callable[..., Awaitable[Stage]]

MODULE = '''
class Table:
    """Rows below each other."""

    title = ""

    def __init__(self, width, *, frame=None):
        self.width = width
        self.frame = frame
        self.rows = []

    def add(self, *cells):
        if len(cells) != self.width:
            raise ValueError("too few or too many cells")
        self.rows.append(cells)

    def text(self, sep=" "):
        lines = [self.title] if self.title else []
        return "\\n".join(lines + [sep.join(row) for row in self.rows])


def widths(table, at_least=0):
    return [max(at_least, *(len(row[place]) for row in table.rows)) for place in range(table.width)]
'''
TESTS = """
from thing import Table, widths

class Frame:
    pass

def made():
    table = Table(2)
    table.title = "T"
    table.add("a", "bc")
    return table

def test_text():
    assert made().text("|") == "T\\na|bc"

def test_widths():
    assert widths(made(), at_least=2) == [2, 2]

def test_frame():
    assert Table(1, frame=Frame()).text() == ""
"""


async def recorded(stage: Stage, text: str, tests: Sequence[str] = (), examples: Sequence[str] = ()) -> Recording:
    return await record(stage, survey(textwrap.dedent(text)), tests, examples)


def sources(recording: Recording, target: str) -> list[str]:
    return [call.source for call in recording.calls.get(target, ())]


async def test_what_tests_pass_is_recorded_with_the_steps_that_made_it(stage_of: StageOf) -> None:
    stage = await stage_of(MODULE, test_thing=TESTS)
    found = await recorded(stage, MODULE, ["test_thing.py"])
    made = "[(table := Table(2)), setattr(table, 'title', 'T'), table.add('a', 'bc'), table][-1]"
    assert sources(found, "Table.text") == [f"{made}.text(sep='|')"]
    assert sources(found, "widths") == [f"widths({made}, at_least=2)"]
    assert made in found.instances["Table"]


async def test_what_no_test_could_import_is_left_out(stage_of: StageOf) -> None:
    stage = await stage_of(MODULE, test_thing=TESTS)
    found = await recorded(stage, MODULE, ["test_thing.py"])
    assert all("Frame" not in source for source in sources(found, "Table"))


async def test_examples_are_run_though_one_of_their_pieces_fails(stage_of: StageOf) -> None:
    stage = await stage_of(MODULE)
    example = pieces_in(
        """
        >>> from thing import Table, widths
        >>> show(missing)
        >>> table = Table(1)
        >>> table.add("abc")
        >>> widths(table)
        [3]
        """
    )
    found = await recorded(stage, MODULE, examples=[example])
    assert sources(found, "widths") == ["widths([(table := Table(1)), table.add('abc'), table][-1])"]


async def test_examples_are_python_as_they_stand_without_what_our_own_files_import_from_the_future(
    stage_of: StageOf,
) -> None:
    stage = await stage_of(MODULE)
    example = pieces_in(
        """
        >>> from thing import widths
        >>> def sized(table: str): return [table]
        >>> widths(sized(sized.__annotations__["table"].__name__))
        []
        """
    )
    found = await recorded(stage, MODULE, examples=[example])
    assert sources(found, "widths") == ["widths(['str'])"]


async def test_results_of_factories_objects_by_fields_and_constants_are_recorded(stage_of: StageOf) -> None:
    text = """
        from shapes import Point, UNIT

        def area(shape, point=None):
            return shape.side ** 2
    """
    shapes = """
        from dataclasses import dataclass

        class Square:
            def __new__(cls, side):
                made = super().__new__(cls)
                made.side = side
                return made

        @dataclass
        class Point:
            x: int
            y: int = 0

        UNIT = Square(1)

        def square(side):
            return Square(side)
    """
    tests = """
        import shapes
        from thing import area

        def test_area():
            assert area(shapes.square(2), shapes.Point(3)) == 4
            assert area(shapes.UNIT) == 1
    """
    stage = await stage_of(text, shapes=shapes, test_thing=tests)
    found = await recorded(stage, text, ["test_thing.py"])
    assert sources(found, "area") == ["area(Square(2), point=Point(x=3, y=0))", "area(UNIT)"]
    assert found.imports == {"Square": "shapes"}  # what the module imports itself needs no import


PLUG_IN = """
import engine

class Upper:
    def change(self, text, mark):
        return text.upper() + mark

def _register():
    engine.known["upper"] = Upper()

_register()
"""
ENGINE = """
import importlib

known = {}

def convert(text, plug_ins=(), *, mark="!"):
    for name in plug_ins:
        importlib.import_module(name)
    return "".join(one.change(text, mark) for one in known.values())

class Engine:
    def __init__(self, *plug_ins):
        self.plug_ins = plug_ins

    def run(self, text):
        return convert(text, self.plug_ins, mark="?")
"""
TESTS_OF_PLUG_IN = """
from engine import Engine, convert

def shout(text):
    return convert(text, ["thing"])

def test_convert():
    assert shout("a") == "A!"

def test_engine():
    assert Engine("thing").run("b") == "B?"
"""


async def test_calls_of_other_modules_through_which_the_code_runs_are_recorded(stage_of: StageOf) -> None:
    stage = await stage_of(PLUG_IN, engine=ENGINE, test_thing=TESTS_OF_PLUG_IN)
    found = await recorded(stage, PLUG_IN, ["test_thing.py"])
    assert [call.source for call in found.ways] == ["convert('a', plug_ins=['thing'])", "Engine('thing').run('b')"]
    assert found.imports == {"convert": "engine", "Engine": "engine"}


async def test_code_that_only_another_module_reaches_is_tested_through_it(stage_of: StageOf, tmp_path: Path) -> None:
    text = PLUG_IN.replace("Upper", "_Upper")
    found = await studied(await stage_of(text, engine=ENGINE, test_thing=TESTS_OF_PLUG_IN), text, ["test_thing.py"])
    assert {call.target for call in found.cases} <= {"through_convert", "through_run"}
    written = write_test_file(found, "thing", HouseStyle())
    assert written is not None
    assert "from engine import" in written
    (tmp_path / "test_written.py").write_text(written)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_written.py"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout


async def test_a_call_of_the_module_itself_goes_before_one_through_another(stage_of: StageOf) -> None:
    text = """
        def double(text):
            return text * 2
    """
    engine = """
        from thing import double

        def twice(text):
            return double(double(text))
    """
    tests = """
        from engine import twice

        def test_twice():
            assert twice("a") == "aaaa"
    """
    found = await studied(await stage_of(text, engine=engine, test_thing=tests), text, ["test_thing.py"])
    assert {call.target for call in found.cases} == {"double"}


async def test_what_runs_what_it_is_handed_is_no_way_in(stage_of: StageOf) -> None:
    text = """
        def halved(number):
            if number % 2:
                raise ValueError("odd")
            return number // 2
    """
    tests = """
        import functools
        import pytest
        from thing import halved

        def test_halved():
            pytest.raises(ValueError, halved, 3)
            assert functools.reduce(lambda one, other: one + halved(other), [2, 4], 0) == 3
    """
    found = await recorded(await stage_of(text, test_thing=tests), text, ["test_thing.py"])
    assert found.ways == ()
    assert sources(found, "halved") == ["halved(3)", "halved(2)", "halved(4)"]


async def test_files_that_tests_make_for_themselves_are_recorded_with_what_is_in_them(stage_of: StageOf) -> None:
    text = """
        def n_lines(path):
            return sum(1 for _ in open(path))

        def names(folder):
            return sorted(one.name for one in folder.iterdir())
    """
    tests = """
        import os
        import tempfile
        from thing import n_lines, names

        def test_n_lines(tmp_path):
            file = tmp_path / "some.txt"
            file.write_text("a\\nb\\n")
            assert n_lines(str(file)) == 2
            file.write_bytes(b"\\xff")
            os.mkdir(tmp_path / "sub")
            (tmp_path / "sub" / "one").write_text("1")
            assert names(tmp_path / "sub") == ["one"]
            with tempfile.NamedTemporaryFile("w", suffix=".txt") as drawn:
                assert n_lines(drawn.name) == 0
    """
    found = await recorded(await stage_of(text, test_thing=tests), text, ["test_thing.py"])
    made = "[(file := tmp_path / 'some.txt'), file.write_text('a\\nb\\n'), file][-1]"
    empty = "[(file := tmp_path / 'some.txt'), file.write_text(''), file][-1]"
    assert sources(found, "n_lines") == [f"n_lines(str({made}))", f"n_lines(str({empty}))"]
    made = "[(folder := tmp_path / 'sub'), folder.mkdir(), (folder / 'one').write_text('1'), folder][-1]"
    assert sources(found, "names") == [f"names({made})"]


async def studied(stage: Stage, text: str, tests: Sequence[str] = ()) -> Study:
    subject = Subject(textwrap.dedent(text), tests=tests, budget_s=1.0)
    found = await study(stage, subject, lambda message, fraction: None)
    assert isinstance(found, Study), found
    return found


async def test_tests_made_of_what_was_recorded_pass_and_read_like_those_of_a_person(
    stage_of: StageOf, tmp_path: Path
) -> None:
    found = await studied(await stage_of(MODULE, test_thing=TESTS), MODULE, ["test_thing.py"])
    assert {"Table.text", "widths"} <= {call.target for call in found.cases}
    for framework in ("pytest", "unittest"):
        text = write_test_file(found, "thing", HouseStyle(framework))
        assert text is not None
        assert ":=" not in text
        (tmp_path / f"test_{framework}.py").write_text(text)
    assert "    table.add(" in text
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_pytest.py", "test_unittest.py"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout


async def test_what_changes_an_object_is_told_by_the_method_that_reads_it(stage_of: StageOf) -> None:
    text = """
        class Page:
            def __init__(self):
                self._parts = []

            def add(self, part):
                self._parts.append(part)

            def render(self):
                return "".join(self._parts)
    """
    found = await studied(await stage_of(text), text)
    added = {call.operands[1]: seen for call, seen in found.cases.items() if call.target == "Page.add"}
    assert {seen.effects for seen in added.values()} == {((0, (("{}.render()", part),)),) for part in added}


async def test_a_module_that_remembers_results_is_tested(stage_of: StageOf) -> None:
    text = """
        known = {}

        def double(text):
            if text not in known:
                known[text] = text * 2
            return known[text]
    """
    found = await studied(await stage_of(text), text)
    assert {call.target for call in found.cases} == {"double"}


def test_steps_become_statements_each_object_with_a_name_of_its_own() -> None:
    made = "[(box := Box()), setattr(box, 'size', 2), box.__setitem__('a', 1), box.put(3), box][-1]"
    statements, rest, bound = unrolled(f"join({made}, {made})", {"box"})
    assert statements == [
        *("box_2 = Box()", "box_2.size = 2", "box_2['a'] = 1", "box_2.put(3)"),
        *("box_3 = Box()", "box_3.size = 2", "box_3['a'] = 1", "box_3.put(3)"),
    ]
    assert (rest, bound) == ("join(box_2, box_3)", {"box_2", "box_3"})


def test_the_code_of_documents_is_read_from_prompts_fences_and_blocks() -> None:
    text = """
Use it:

```python
from thing import Table
table = Table(1)
```

.. code-block:: python
   :linenos:

   table.add("a")

and so on::

    table.text()

```sh
rm -r build
```
"""
    assert pieces_in(text).split("\0") == [
        *("from thing import Table", "table = Table(1)", "table.add('a')", "table.text()"),
    ]
