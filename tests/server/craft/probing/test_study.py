"""From a module to cases, and from cases to tests that pass."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import textwrap
from collections.abc import Awaitable, Callable
from pathlib import Path

from rolecall_server.craft.characterization import HouseStyle, Stage, Study, Subject, study, write_test_file
from rolecall_server.sandbox import mutants_of

StageOf = Callable[..., Awaitable[Stage]]

MODULE = '''
from dataclasses import dataclass


@dataclass(frozen=True)
class Money:
    cents: int
    currency: str = "EUR"

    def __add__(self, other: "Money") -> "Money":
        if self.currency != other.currency:
            raise ValueError("different currencies")
        return Money(self.cents + other.cents, self.currency)

    @property
    def is_debt(self) -> bool:
        return self.cents < 0


def grade(points: int) -> str:
    """How good it was.

    >>> grade(95)
    'excellent'
    """
    if points >= 90:
        return "excellent"
    if points >= 50:
        return "passed"
    return "failed"


def first(items: list[int]) -> int:
    return items[0]


def when() -> float:
    import time

    return time.time()
'''


def told(message: str, fraction: float | None) -> None:
    """Nobody looks at the progress."""


async def studied(stage: Stage, text: str, **more: object) -> Study:
    found = await study(stage, Subject(textwrap.dedent(text), budget_s=1.0, **more), told)  # pyright: ignore
    assert isinstance(found, Study), found
    return found


async def test_the_cases_reach_every_branch_and_what_is_written_passes(stage_of: StageOf, tmp_path: Path) -> None:
    found = await studied(await stage_of(MODULE), MODULE)
    assert {call.target for call in found.cases} >= {"Money.__add__", "Money.is_debt", "grade", "first"}
    graded = {seen.views[0][1] for call, seen in found.cases.items() if call.target == "grade"}
    assert graded == {"'excellent'", "'passed'", "'failed'"}
    for framework in ("pytest", "unittest"):
        text = write_test_file(found, "thing", HouseStyle(framework))
        assert text is not None
        (tmp_path / f"test_{framework}.py").write_text(text)
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "-c",
            "/dev/null",
            f"test_{framework}.py",
        ]
        ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert ended.returncode == 0, ended.stdout + text


async def test_boundaries_are_found_by_the_mutants_they_tell(stage_of: StageOf) -> None:
    found = await studied(await stage_of(MODULE), MODULE, symbols=("grade",))
    arguments = {int(call.operands[0]) for call in found.cases}
    assert {90, 50} <= arguments
    assert {89, 49} <= arguments
    assert not found.survivors


async def test_mutants_are_tried_even_where_the_time_is_over(stage_of: StageOf) -> None:
    found = await study(await stage_of(MODULE), Subject(MODULE, symbols=("grade",), budget_s=0.0), told)
    assert isinstance(found, Study)
    assert found.n_killed
    assert found.n_mutants == found.n_killed + len(found.survivors)


async def test_a_documented_example_is_the_first_choice(stage_of: StageOf) -> None:
    found = await studied(await stage_of(MODULE), MODULE, symbols=("grade",))
    assert "grade(95)" in {call.source for call in found.cases}


async def test_what_nobody_raised_on_purpose_is_told_and_not_asserted(stage_of: StageOf) -> None:
    found = await studied(await stage_of(MODULE), MODULE, symbols=("first",))
    assert [(call.source, seen.type_name) for call, seen in found.crashes] == [("first([])", "IndexError")]
    assert all(seen.kind == "value" for seen in found.cases.values())


async def test_what_changes_from_day_to_day_is_left_out_with_a_reason(stage_of: StageOf) -> None:
    found = await studied(await stage_of(MODULE), MODULE, symbols=("when",))
    assert not found.cases
    assert "differ from run to run" in found.left_out["when"]


async def test_where_this_machine_has_its_programs_is_not_asserted(stage_of: StageOf) -> None:
    text = "import os\n\n\ndef setting(name: str = 'PATH') -> str | None:\n    return os.environ.get(name)\n"
    found = await studied(await stage_of(text), text)
    assert found.cases
    assert not {"setting()", "setting('PATH')"} & {call.source for call in found.cases if not call.patched}


async def test_what_tests_reach_already_is_left_to_them(stage_of: StageOf) -> None:
    lines = {number for number, line in enumerate(MODULE.splitlines(), 1) if "def grade" in line}
    start = lines.pop()
    covered = frozenset(range(start, start + 14))
    found = await studied(await stage_of(MODULE), MODULE, covered=covered)
    assert "grade" not in {call.target for call in found.cases}
    assert "first" in {call.target for call in found.cases}


async def test_calls_in_the_repository_give_arguments(stage_of: StageOf) -> None:
    text = "def secret(word):\n    if hash_of(word) == 'terces':\n        return 'open'\n    return 'shut'\n\n"
    text += "def hash_of(word):\n    return word[::-1]\n"
    related = (ast.parse("from thing import secret\n\ndef use():\n    word = 'secret'\n    secret(word)\n"),)
    found = await studied(await stage_of(text), text, related=related)
    assert "secret('secret')" in {call.source for call in found.cases}


async def test_the_same_module_gives_the_same_cases(stage_of: StageOf) -> None:
    stage = await stage_of(MODULE)
    one, other = [list((await studied(stage, MODULE, symbols=("Money",))).cases) for _ in range(2)]
    assert one == other


async def test_setters_are_tested_by_what_they_change(stage_of: StageOf) -> None:
    text = """
        class Box:
            def __init__(self, width: int) -> None:
                self._width = width

            @property
            def width(self) -> int:
                return self._width

            @width.setter
            def width(self, value: int) -> None:
                if value < 0:
                    raise ValueError("too narrow")
                self._width = value
    """
    text = textwrap.dedent(text)
    found = await studied(await stage_of(text), text)
    assert {"Box.width", "Box.width.setter"} <= {call.target for call in found.cases}
    written = write_test_file(found, "thing", HouseStyle())
    assert written is not None
    assert "    box.width = " in written
    assert "setattr" not in written


HIDDEN = """
def _halved(number: int) -> int:
    if number % 2:
        raise ValueError("odd")
    return number // 2


def _doubled(number: int) -> int:
    return number * 2


def double(number: int) -> int:
    return _doubled(number)


def connect(address):
    return _halved(address.open().port)
"""


async def test_a_private_function_that_nothing_public_leads_to_is_tested_itself(stage_of: StageOf) -> None:
    found = await studied(await stage_of(HIDDEN), HIDDEN)
    assert {call.target for call in found.cases} == {"_halved", "double", "connect"}


async def test_a_private_function_is_tested_where_it_is_asked_for(stage_of: StageOf) -> None:
    found = await studied(await stage_of(HIDDEN), HIDDEN, symbols=("_doubled",))
    assert {call.target for call in found.cases} == {"_doubled"}


FILES = """
import os


def read_settings(path):
    with open(path) as lines:
        return dict(line.strip().split(" = ") for line in lines if " = " in line)


def write_twice(text: str, filename: str) -> None:
    with open(filename, "w") as out:
        out.write(text * 2)


def beside(file_path):
    return os.path.join(os.path.dirname(file_path), "other.txt")


def rename(path):
    os.rename(path, "elsewhere.txt")
    return 1


def note(filename: str) -> int:
    os.makedirs(os.path.dirname(filename), exist_ok=True)
    with open(filename, "a") as out:
        return out.write("x")


def escape(text: str) -> None:
    with open(text + "x", "w") as out:
        out.write(text)
"""


async def test_files_are_read_and_written_in_the_temporary_folder_of_a_test(stage_of: StageOf, tmp_path: Path) -> None:
    found = await studied(await stage_of(FILES), FILES)
    assert {call.target for call in found.cases} == {"read_settings", "write_twice", "beside", "note"}
    assert found.left_out == dict.fromkeys(
        ["rename", "escape"], "calls would reach the network, other files or other processes"
    )
    written = write_test_file(found, "thing", HouseStyle())
    assert written is not None
    assert 'file = tmp_path / "a.txt"\n    file.write_text(' in written
    assert "assert Path(filename).read_text() == filename_after" in written
    methods = write_test_file(found, "thing", HouseStyle("unittest"))
    assert methods is not None
    assert methods.count("tmp_path = pathlib.Path(temporary.name)") == written.count("tmp_path):")
    (tmp_path / "test_pytest.py").write_text(written)
    (tmp_path / "test_unittest.py").write_text(methods)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_pytest.py", "test_unittest.py"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout


async def test_where_tests_reach_all_only_what_they_do_not_notice_is_tested(stage_of: StageOf) -> None:
    stage = await stage_of(MODULE)
    covered = frozenset(range(1, MODULE.count("\n") + 2))
    every = mutants_of(MODULE)
    nothing = await studied(stage, MODULE, covered=covered, noticed=frozenset(every))
    assert (dict(nothing.cases), dict(nothing.left_out).get("grade")) == ({}, None)
    left = MODULE.split("\n").index("    if points >= 50:") + 1
    one = await studied(stage, MODULE, covered=covered, noticed=frozenset(each for each in every if each.line != left))
    assert {call.target for call in one.cases} == {"grade"}


WARNING = """
import warnings


class OldName(UserWarning):
    pass


def total(prices: list[int]) -> int:
    warnings.warn("use sum", OldName, stacklevel=2)
    return sum(prices)
"""


async def test_a_warning_is_waited_for_where_the_repository_makes_errors_of_them(
    stage_of: StageOf, tmp_path: Path
) -> None:
    found = await studied(await stage_of(WARNING), WARNING, symbols=("total",))
    (tmp_path / "pytest.ini").write_text("[pytest]\nfilterwarnings = error::UserWarning\n")
    for framework in ("pytest", "unittest"):
        written = write_test_file(found, "thing", HouseStyle(framework))
        assert written is not None
        assert "arns(OldName):\n" in written
        (tmp_path / f"test_{framework}.py").write_text(written)
    plugins = ["-p", "no:cacheprovider", "-p", "no:asyncio"]  # whose own warnings are no matter here
    command = [sys.executable, "-m", "pytest", "-q", *plugins, "test_pytest.py", "test_unittest.py"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout


CLIENT = """
import subprocess
import typing as t
from urllib.request import urlopen


def told(speaker, word: str) -> None:
    speaker.say(word, loud=word.isupper())


class Client:
    def __init__(self, transport, retries: int = 1):
        self._transport = transport
        self._retries = retries

    def fetch(self, name: str, limit: t.Optional[int] = None):
        query = {"limit": limit} if limit is not None else {}
        return self._transport.send("GET", "/items/" + name, query=query)

    async def fetch_later(self, name: str):
        return await self._transport.send("GET", "/later/" + name)


class Shelf:
    def __init__(self, store):
        self._store = store

    def __len__(self):
        return self._store.count("all")


class Session:
    def __init__(self):
        self._socket = None

    def close(self, reason: str) -> bool:
        if self._socket is not None:
            self._socket.send(reason.encode())
            self._socket.close()
        return True


def announce(speaker) -> None:
    speaker.say(__file__)
    speaker.say(id(speaker))


def page(path: str):
    subprocess.run(["notify", path], check=True)
    with urlopen("http://example.invalid/" + path) as answer:
        return answer.read()
"""


async def test_mocks_stand_in_for_what_nobody_can_make_and_for_what_reaches_out(
    stage_of: StageOf, tmp_path: Path
) -> None:
    found = await studied(await stage_of(CLIENT), CLIENT)
    assert {call.target for call in found.cases} >= {"told", "Client.fetch", "Client.fetch_later", "page"}
    survivors = {mutant.original[mutant.start : mutant.end] for mutant in found.survivors}
    assert all(call.target.partition(".")[0] in call.source for call in found.cases), "each calls what it tests"
    given = {dict(zip(call.names, call.operands, strict=True)).get("limit") for call in found.cases}
    assert len(given) > 1
    assert "MagicMock()" not in given, "a number can be written"
    assert "announce" not in {call.target for call in found.cases}, "it says where this machine has its files"
    assert not survivors & {"self._socket.send(reason.encode())", "self._socket.close()"}
    assert not survivors & {'"GET"', '"/items/"', '"limit"', '"/later/"', '"notify"', '"http://example.invalid/"'}
    for framework in ("pytest", "unittest"):
        text = write_test_file(found, "thing", HouseStyle(framework))
        assert text is not None
        (tmp_path / f"test_{framework}.py").write_text(text)
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", "/dev/null"]
        ended = subprocess.run(
            [*command, f"test_{framework}.py"], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert ended.returncode == 0, ended.stdout + text


NESTED = """
class Loader:
    class UnknownKind(Exception):
        pass

    def load(self, kind: str) -> str:
        if kind not in ("json", "text"):
            raise Loader.UnknownKind(kind)
        return kind.upper()
"""


async def test_an_exception_that_a_class_holds_is_named_by_it(stage_of: StageOf) -> None:
    found = await studied(await stage_of(NESTED), NESTED)
    written = write_test_file(found, "thing", HouseStyle("pytest"))
    assert written is not None
    assert "with pytest.raises(Loader.UnknownKind" in written
    assert "import Loader\n" in written


DECORATORS = """
import functools


def times(number: int):
    def decorate(function):
        @functools.wraps(function)
        def repeated(*args):
            return [function(*args)] * number

        return repeated

    return decorate


def adder(first: int):
    return lambda second: first + second


class Scale:
    def __init__(self, factor: int):
        self.factor = factor

    def by(self):
        return self._scaled

    def _scaled(self, value: int) -> int:
        return value * self.factor
"""


async def test_functions_that_calls_give_are_called_in_turn(stage_of: StageOf) -> None:
    found = await studied(await stage_of(DECORATORS), DECORATORS)
    assert not {mutant.original[mutant.start : mutant.end] for mutant in found.survivors}
    written = write_test_file(found, "thing", HouseStyle("pytest"))
    assert written is not None
    assert re.search(r"adder\(\w+\)\(\w+\)", written)
    assert re.search(r"times\(\w+\)\(.+\)\(.*\)", written)


LOCK = """
class Lock:
    def __init__(self, name: str) -> None:
        self._name = name
        self._holders = []

    def acquire(self, holder: str) -> bool:
        if self._holders:
            return False
        self._holders.append(holder)
        return True

    def release(self) -> str:
        if not self._holders:
            raise RuntimeError("nobody holds it")
        return self._holders.pop()
"""


async def test_a_method_is_called_on_an_object_as_another_method_left_it(stage_of: StageOf, tmp_path: Path) -> None:
    found = await studied(await stage_of(LOCK), LOCK)
    ends = {(call.target, seen.kind) for call, seen in found.cases.items()}
    assert ends >= {("Lock.release", "value"), ("Lock.release", "raises")}
    text = write_test_file(found, "thing", HouseStyle())
    assert text is not None
    assert re.search(r"    lock\.acquire\(.*\)\n    assert lock\.release\(\) == ", text), text


async def test_an_object_with_an_identifier_of_its_own_is_tested_and_the_identifier_not(stage_of: StageOf) -> None:
    text = """
        import uuid

        class Order:
            def __init__(self) -> None:
                self.number = uuid.uuid4().hex

            def total(self, amount: int) -> int:
                return amount * 2

            def label(self) -> str:
                return f"order {self.number}"
    """
    found = await studied(await stage_of(textwrap.dedent(text)), text)
    assert {call.target for call in found.cases} == {"Order.total"}


async def test_what_opens_a_file_gets_one_whatever_it_is_called_and_no_descriptor(stage_of: StageOf) -> None:
    text = """
        import io

        def rendered(template, data=None):
            with io.open(template, encoding="utf-8") as lines:
                return lines.read().upper()
    """
    found = await studied(await stage_of(textwrap.dedent(text)), text)
    templates = [call.operands[0] for call in found.cases]
    assert templates
    assert all("tmp_path" in one for one in templates), templates


TABLE = """
class Unit:
    FACTORS = {
        "second": 1,
        "minute": 60,
        "hour": 3600,
        "day": 86400,
        "week": 604800,
        "fortnight": 1209600,
    }

    def __init__(self):
        self.total = 0

    def add(self, *names):
        for name in names:
            self.total += self.FACTORS[name]
        return self.total
"""


async def test_a_table_that_is_read_at_import_is_tested_entry_by_entry(stage_of: StageOf) -> None:
    found = await studied(await stage_of(TABLE), TABLE)
    assert not [mutant for mutant in found.survivors if mutant.at_import]
