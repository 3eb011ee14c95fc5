"""Calls made in processes of their own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

from rolecall_server.craft.characterization import CandidateCall, Observation, Stage
from rolecall_server.craft.characterization.execution import Observed, RunConditions, Verdicts, kill, observe
from rolecall_server.craft.characterization.selection import assertable
from rolecall_server.sandbox import mutants_of

StageOf = Callable[..., Awaitable[Stage]]


def call(source: str) -> CandidateCall:
    return CandidateCall("target", source, ())


async def observed(stage: Stage, *sources: str, circumstances: RunConditions | None = None) -> list[Observation]:
    calls = [call(source) for source in sources]
    seen = await observe(stage, calls, trace=circumstances is None, circumstances=circumstances)
    assert isinstance(seen, Observed), seen
    return [seen.observations[each] for each in calls]


async def test_a_result_is_told_as_a_literal_that_equals_it(stage_of: StageOf) -> None:
    stage = await stage_of("def same(x):\n    return x\n")
    literals = ["{'a': [1, (2.5,)]}", "{1, 2}", "b'x'", "None", "float('inf')", "Decimal('1.5')", "int", "frozenset()"]
    calls = [CandidateCall("same", "same({0})", (literal,), ("x",)) for literal in literals]
    seen = await observe(stage, calls, trace=True)
    assert isinstance(seen, Observed)
    assert [seen.observations[each].views for each in calls] == [(("{}", literal),) for literal in literals]


async def test_an_object_is_told_by_what_can_be_read_off_it(stage_of: StageOf) -> None:
    stage = await stage_of(
        """
        class Plain:
            def __init__(self, x):
                self.x = x
                self._y = 1
            def __len__(self):
                return 3

        class Equal(Plain):
            def __eq__(self, other):
                return self.x == other.x
            def __repr__(self):
                return f"Equal({self.x!r})"

        def made():
            return Equal("a")
        """
    )
    plain, equal, built = await observed(stage, "Plain([1])", "made()", "Equal('a')")
    assert plain.views == (("{}.x", "[1]"), ("len({})", "3"))
    assert equal.views == (("{}", "Equal('a')"),)
    assert built.views == (("{}.x", "'a'"), ("len({})", "3"))  # it equals what is built as it was, however that is


async def test_flags_are_told_by_their_name_and_those_without_one_by_their_value(stage_of: StageOf) -> None:
    stage = await stage_of(
        """
        import enum

        class Mode(enum.Flag):
            READ = 1
            WRITE = 2

        def mode(number):
            return Mode(number)
        """
    )
    told = await observed(stage, *(f"mode({number})" for number in range(4)))
    assert [one.views for one in told] == [
        (("{}", text),) for text in ("Mode(0)", "Mode.READ", "Mode.WRITE", "Mode(3)")
    ]


async def test_an_iterator_is_told_by_its_items_and_an_endless_one_by_its_first(stage_of: StageOf) -> None:
    stage = await stage_of(
        """
        import itertools

        def some(n):
            yield from range(n)

        def endless():
            return itertools.count()

        def broken():
            yield 1
            raise ValueError("late")
        """
    )
    some, endless, broken = await observed(stage, "some(3)", "endless()", "broken()")
    assert some.views == (("list({})", "[0, 1, 2]"),)
    assert {(4, 5), (5, -4)} <= some.arcs or len(some.arcs) >= 1
    assert endless.views == (("list(itertools.islice({}, 5))", "[0, 1, 2, 3, 4]"),)
    assert (broken.kind, broken.type_name, broken.lazily, broken.deliberate) == ("raises", "ValueError", True, True)


async def test_an_exception_is_deliberate_where_the_workspace_raises_it(stage_of: StageOf) -> None:
    stage = await stage_of(
        """
        def checked(x):
            if x < 0:
                raise ValueError("negative")
            return [1][x]
        """
    )
    raised, crashed, misused = await observed(stage, "checked(-1)", "checked(7)", "checked()")
    assert (raised.type_name, raised.message, raised.deliberate) == ("ValueError", "negative", True)
    assert (crashed.type_name, crashed.deliberate, crashed.inside, crashed.line) == ("IndexError", False, True, 5)
    assert (misused.type_name, misused.inside) == ("TypeError", False)


async def test_what_fails_while_an_exception_is_made_nobody_raised(stage_of: StageOf) -> None:
    stage = await stage_of(
        """
        def checked(x):
            try:
                return int(x)
            except ValueError as error:
                raise RuntimeError(error.message)

        def quoted(x):
            if not x:
                raise ValueError(
                    "empty: %r" % x
                )
            raise TypeError("%d is no text" % x)
        """
    )
    no_message, no_number, empty = await observed(stage, "checked('a')", "quoted('a')", "quoted('')")
    assert (no_message.type_name, no_message.deliberate) == ("AttributeError", False)
    assert (no_number.type_name, no_number.deliberate) == ("TypeError", False)
    assert (empty.type_name, empty.deliberate) == ("ValueError", True)


async def test_what_is_read_of_the_machine_is_no_result_that_a_test_can_hold_to(stage_of: StageOf) -> None:
    stage = await stage_of(
        """
        import json
        import sys

        def hosts(path="/etc/hosts"):
            with open(path) as file:
                return len(file.readlines())

        def own():
            with open(__file__) as file:
                return file.readline()

        def output(where=sys.stdout):
            return where
        """
    )
    hosts, own, output = await observed(stage, "hosts()", "own()", "output()")
    assert not assertable(hosts)
    assert assertable(own)
    assert output.views == ()


async def test_a_call_that_reads_more_than_a_path_out_of_a_temporary_folders_name_does_not_end_alike(
    stage_of: StageOf,
) -> None:
    stage = await stage_of(
        """
        import re

        def digits(path):
            return len(re.findall("[a-z][0-9]", str(path)))
        """
    )
    asked = CandidateCall("digits", "digits({0})", ("tmp_path",))
    seen = [await observe(stage, [asked], trace=False, circumstances=RunConditions(hash_seed=seed)) for seed in (0, 1)]
    views = [one.observations[asked].views for one in seen if isinstance(one, Observed)]
    assert len(set(views)) == 2


async def test_a_warning_about_the_codes_own_use_of_what_is_deprecated_is_not_told(stage_of: StageOf) -> None:
    stage = await stage_of(
        """
        import warnings

        def days(month):
            warnings.warn("use length", DeprecationWarning, stacklevel=2)
            return 30

        def year():
            return 12 * days(1)

        def length(month):
            warnings.warn("guessed", UserWarning)
            return 30
        """
    )
    days, year, length = await observed(stage, "days(1)", "year()", "length(1)")
    assert [name for name, _ in days.warns] == ["DeprecationWarning"]
    assert year.warns == ()
    assert [name for name, _ in length.warns] == ["UserWarning"]


async def test_the_lines_that_follow_each_other_are_told(stage_of: StageOf) -> None:
    stage = await stage_of("def sign(x):\n    if x < 0:\n        return -1\n    return 1\n")
    negative, positive = await observed(stage, "sign(-3)", "sign(3)")
    assert negative.arcs == {(-1, 2), (2, 3), (3, -1)}
    assert positive.arcs == {(-1, 2), (2, 4), (4, -1)}


async def test_what_a_call_changes_and_prints_is_told(stage_of: StageOf) -> None:
    stage = await stage_of("def fill(items):\n    items.append(1)\n    print('filled')\n")
    filling = CandidateCall("fill", "fill({0})", ("[]",), ("items",))
    seen = await observe(stage, [filling], trace=True)
    assert isinstance(seen, Observed)
    assert seen.observations[filling].effects == ((0, (("{}", "[1]"),)),)
    assert seen.observations[filling].printed == "filled\n"


async def test_a_call_that_kills_or_hangs_its_process_is_lost_alone(stage_of: StageOf) -> None:
    stage = await stage_of(
        """
        import ctypes

        def die():
            ctypes.string_at(0)

        def loop():
            while True:
                try:
                    pass
                except BaseException:
                    pass

        def deaf():
            while True:
                try:
                    while True:
                        pass
                except BaseException:
                    pass

        def eat():
            return len("x" * 10**11)

        def fine():
            return 1
        """
    )
    kinds = [seen.kind for seen in await observed(stage, "die()", "loop()", "deaf()", "eat()", "fine()")]
    assert kinds == ["crashed", "slow", "crashed", "raises", "value"]


async def test_a_call_that_would_reach_beyond_its_process_is_refused(stage_of: StageOf, tmp_path: Path) -> None:
    stage = await stage_of(
        """
        import os, shutil, socket, subprocess, threading, pathlib

        def write(): open("made", "w")
        def write_low(): os.open("made", os.O_CREAT | os.O_WRONLY)
        def write_path(): pathlib.Path("made").write_text("x")
        def remove(): os.remove("thing.py")
        def remove_all(): shutil.rmtree(".")
        def start(): subprocess.run(["true"])
        def shell(): os.system("true")
        def connect(): socket.create_connection(("127.0.0.1", 9))
        def thread(): threading.Thread(target=print).start()
        def hidden():
            try:
                os.remove("thing.py")
            except BaseException:
                return 1
        """
    )
    names = [
        "write",
        "write_low",
        "write_path",
        "remove",
        "remove_all",
        "start",
        "shell",
        "connect",
        "thread",
        "hidden",
    ]
    assert [seen.kind for seen in await observed(stage, *(f"{name}()" for name in names))] == ["refused"] * len(names)
    assert not stage.shadow.on_disk("made").exists()
    assert stage.shadow.on_disk("thing.py").exists()


async def test_of_descriptors_a_call_may_use_those_that_it_opened(stage_of: StageOf) -> None:
    stage = await stage_of(
        """
        import os

        def close(number): os.close(number)
        def say(number): os.write(number, b"x")
        def own():
            there = os.open(__file__, os.O_RDONLY)
            text = os.read(there, 1)
            os.close(there)
            return text
        """
    )
    calls = [*(f"close({number})" for number in range(20)), "close(99)", "say(1)", "own()"]
    assert [seen.kind for seen in await observed(stage, *calls)] == ["refused"] * (len(calls) - 1) + ["value"]


async def test_a_call_that_changes_the_module_is_told_and_the_next_finds_it_as_it_was(stage_of: StageOf) -> None:
    stage = await stage_of("seen = []\n\ndef note(x):\n    seen.append(x)\n    return len(seen)\n")
    first, second = await observed(stage, "note(1)", "note(2)")
    assert first.pollutes
    assert first.views == second.views == (("{}", "1"),)


async def test_a_call_that_changes_what_all_modules_share_is_told_and_the_next_finds_it_as_it_was(
    stage_of: StageOf,
) -> None:
    stage = await stage_of("""
        import os, sys

        def watch():
            sys.meta_path.insert(0, object())

        def name():
            os.environ["SHOP"] = "open"

        def named():
            return os.environ.get("SHOP"), len(sys.meta_path) < 9
    """)
    watched, named, after = await observed(stage, "watch()", "name()", "named()")
    assert watched.pollutes
    assert named.pollutes
    assert after.views == (("{}", "(None, True)"),)


async def test_an_object_that_cannot_be_looked_at_is_no_error_of_the_call(stage_of: StageOf) -> None:
    stage = await stage_of("""
        class Later:
            @property
            def __class__(self):
                raise ValueError("not yet")

        def later():
            return Later()

        def is_later(value):
            return type(value) is Later

        def numbers():
            yield 1
            raise ValueError("no more")
    """)
    later, numbers = await observed(stage, "later()", "numbers()")
    asked = CandidateCall("is_later", "is_later({0})", ("Later()",), ("value",))
    found = await observe(stage, [asked], trace=True)
    assert isinstance(found, Observed), found
    assert found.observations[asked].views == (("{}", "True"),)
    assert (later.kind, later.views) == ("value", ())
    assert (numbers.kind, numbers.lazily) == ("raises", True)


async def test_what_is_written_to_a_stream_is_told(stage_of: StageOf) -> None:
    stage = await stage_of("def write(out):\n    out.write('done')\n")
    written = CandidateCall("write", "write({0})", ("io.StringIO()",), ("out",))
    found = await observe(stage, [written], trace=True)
    assert isinstance(found, Observed), found
    assert found.observations[written].effects == ((0, (("{}.getvalue()", "'done'"),)),)


async def test_chance_is_noticed_even_where_it_gives_the_same(stage_of: StageOf) -> None:
    stage = await stage_of(
        "from random import choice\n\ndef draw():\n    return choice([1])\n\ndef fixed():\n    return 1\n"
    )
    draw, fixed = await observed(stage, "draw()", "fixed()")
    assert draw.by_chance
    assert not fixed.by_chance


async def test_elsewhere_the_clock_the_time_zone_and_the_order_of_sets_are_others(stage_of: StageOf) -> None:
    stage = await stage_of(
        """
        import datetime, time

        def year(): return datetime.date.today().year
        def now(): return int(time.time() / 86400)
        def zone(): return time.tzname[0]
        def order(): return "".join({"a", "b", "c", "d", "e", "f"})
        """
    )
    sources = ("year()", "now()", "zone()", "order()")
    here = await observed(stage, *sources)
    there = await observed(
        stage, *sources, circumstances=RunConditions(3, time_zone="Pacific/Kiritimati", clock_shift_days=400)
    )
    for one, other in zip(here, there, strict=True):
        assert one.outcome != other.outcome


async def test_a_moment_that_does_not_hang_on_the_clock_is_the_same_where_the_clock_is_another(
    stage_of: StageOf,
) -> None:
    stage = await stage_of("""
        import datetime

        def made(): return datetime.datetime(2024, 2, 29)
        def read(): return datetime.date.fromisoformat("2024-02-29")
        def later(when): return when + datetime.timedelta(days=1)
        def is_moment(when): return isinstance(when, datetime.datetime)
    """)
    sources = ("made()", "read()", "later(datetime.datetime(2024, 2, 29))", "is_moment(made())")
    here = await observed(stage, *sources)
    there = await observed(stage, *sources, circumstances=RunConditions(clock_shift_days=400))
    assert [one.outcome for one in here] == [one.outcome for one in there]
    assert here[0].views == (("{}", "datetime.datetime(2024, 2, 29, 0, 0)"),)


async def test_a_moment_in_a_zone_is_written_with_the_zone_if_that_can_be_written(stage_of: StageOf) -> None:
    stage = await stage_of("""
        import datetime, zoneinfo

        class Mine(datetime.tzinfo):
            def utcoffset(self, when): return datetime.timedelta(hours=1)

        def here(): return datetime.datetime(2024, 2, 29, tzinfo=zoneinfo.ZoneInfo("Etc/UTC"))
        def there(): return datetime.datetime(2024, 2, 29, tzinfo=Mine())
    """)
    here, there = await observed(stage, "here()", "there()")
    assert here.views == (("{}", "datetime.datetime(2024, 2, 29, 0, 0, tzinfo=zoneinfo.ZoneInfo(key='Etc/UTC'))"),)
    assert dict(here.imports)["zoneinfo"] == ""
    assert "Mine" not in str(there.views)


async def test_a_mock_tells_the_methods_it_was_asked_for_and_not_that_its_length_or_text_was(stage_of: StageOf) -> None:
    stage = await stage_of("def read(shop):\n    return len(shop.names(2)), str(shop.place), shop.close()\n")
    asked = CandidateCall("read", "read({0})", ("MagicMock()",), ("shop",))
    found = await observe(stage, [asked], trace=True)
    assert isinstance(found, Observed), found
    assert found.observations[asked].effects == ((0, (("{}.method_calls", "[call.names(2), call.close()]"),)),)


async def test_alone_a_call_does_not_find_what_another_left(stage_of: StageOf) -> None:
    stage = await stage_of("known = {}\n\ndef add(x):\n    known[x] = 1\n\ndef has(x):\n    return x in known\n")
    _, together = await observed(stage, "add(1)", "has(1)")
    assert together.views == (("{}", "True"),)
    _, apart = await observed(stage, "add(1)", "has(1)", circumstances=RunConditions(alone=True))
    assert apart.views == (("{}", "False"),)


async def test_a_cached_function_is_seen_at_work_each_time(stage_of: StageOf) -> None:
    stage = await stage_of("import functools\n\n@functools.cache\ndef square(x):\n    return x * x\n")
    first, second = await observed(stage, "square(2)", "square(1 + 1)")
    assert first.arcs == second.arcs != frozenset()


async def test_a_module_that_cannot_be_imported_is_a_reason(stage_of: StageOf) -> None:
    stage = await stage_of("import no_such_module_anywhere\n")
    seen = await observe(stage, [call("f()")], trace=True)
    assert "No module named 'no_such_module_anywhere'" in str(seen)


async def test_mutants_are_told_by_the_first_call_that_ends_otherwise(stage_of: StageOf) -> None:
    text = "def grade(x):\n    if x > 10:\n        return 'much'\n    return 'little'\n"
    stage = await stage_of(text)
    calls = [call("grade(0)"), call("grade(10)"), call("grade(99)")]
    seen = await observe(stage, calls, trace=True)
    assert isinstance(seen, Observed)
    mutants = mutants_of(text)
    verdicts = await kill(stage, seen.observations, [(mutant, calls) for mutant in mutants])
    assert isinstance(verdicts, Verdicts)
    found = {(one.line, one.became): told for one, told in verdicts.killed.items()}
    assert found[2, ">="] == calls[1]
    assert found[3, '""'] == calls[2]
    assert found[4, "None"] == calls[0]
    assert (2, "11") not in found, "no call is made with 11"


async def test_a_mutant_that_does_not_end_or_does_not_import_is_killed(stage_of: StageOf) -> None:
    text = "def count(n):\n    while n > 0:\n        n = n - 1\n    return n\n\nSTART = [count(1)][0]\n"
    stage = await stage_of(text)
    calls = [call("count(3)")]
    seen = await observe(stage, calls, trace=True)
    assert isinstance(seen, Observed)
    wanted = [one for one in mutants_of(text) if (one.line, one.became) in ((3, "+"), (6, "1"))]
    verdicts = await kill(stage, seen.observations, [(mutant, calls) for mutant in wanted])
    assert isinstance(verdicts, Verdicts)
    assert set(verdicts.killed.values()) == {None}


async def test_other_modules_of_the_package_see_the_mutant_too(stage_of: StageOf) -> None:
    text = "def base():\n    return 1\n\ndef outer():\n    import other\n    return other.twice()\n"
    stage = await stage_of(text, other="import thing\n\ndef twice():\n    return 2 * thing.base()\n")
    calls = [call("outer()")]
    seen = await observe(stage, calls, trace=True)
    assert isinstance(seen, Observed)
    wanted = [one for one in mutants_of(text) if (one.line, one.became) == (2, "2")]
    verdicts = await kill(stage, seen.observations, [(mutant, calls) for mutant in wanted])
    assert isinstance(verdicts, Verdicts)
    assert list(verdicts.killed.values()) == calls


async def test_of_a_mock_is_told_what_it_was_asked_as_a_test_can_write_it(stage_of: StageOf) -> None:
    stage = await stage_of("""
        import datetime

        def tell(speaker):
            speaker.say({"b", "a"}, at=datetime.date(2024, 2, 29))
            with speaker.pause() as pause:
                pause.end(3)
            speaker.is_tired = True
            return speaker.rest()

        def pass_on(speaker):
            speaker.meet(speaker.friend)

        def say_where(speaker):
            speaker.say(__file__)
    """)
    names = ("tell", "pass_on", "say_where")
    calls = [CandidateCall(name, f"{name}({{0}})", ("MagicMock()",), ("speaker",)) for name in names]
    found = await observe(stage, calls, trace=True)
    assert isinstance(found, Observed), found
    told, passed_on, where = (found.observations[call] for call in calls)
    asked = (
        "[call.say({'a', 'b'}, at=datetime.date(2024, 2, 29)), call.pause(), call.pause().__enter__(), "
        "call.pause().__enter__().end(3), call.pause().__exit__(None, None, None), call.rest()]"
    )
    assert told.effects == ((0, (("{}.mock_calls", asked), ("{}.is_tired", "True"))),)
    assert ("call", "unittest.mock") in told.imports
    assert (told.views, told.source) == ((), "{0}.rest.return_value")
    assert passed_on.effects == ((0, (("{}.mock_calls", "[call.meet(ANY)]"),)),)
    assert where.effects == (), "it is another place where the test runs"


async def test_an_object_that_makes_what_it_is_asked_for_is_not_asked(stage_of: StageOf) -> None:
    stage = await stage_of("""
        class Tree:
            def __getattr__(self, name):
                if name.startswith("_"):
                    raise AttributeError(name)
                self.__dict__[name] = Tree()
                return self.__dict__[name]

        def same(tree):
            return tree
    """)
    call = CandidateCall("same", "same({0})", ("Tree()",), ("tree",))
    found = await observe(stage, [call], trace=True)
    assert isinstance(found, Observed), found
    seen = found.observations[call]
    assert (seen.effects, seen.takes) == ((), None)
    assert not seen.lines & {6, 7}, "`__getattr__` made nothing"


async def test_of_a_text_that_names_the_place_where_the_test_runs_nothing_is_told(stage_of: StageOf) -> None:
    stage = await stage_of("""
        import os
        from pathlib import Path

        def within(name):
            return os.path.join(os.path.dirname(os.path.abspath(__file__)), name)

        def above(levels):
            return [str(Path(__file__).resolve().parents[levels]), "beside"]

        def name_of(path):
            return Path(path).resolve().name
    """)
    sources = (
        "within('some_more_words_than_fit')",
        "within('../../beside')",
        "above(1)",
        "name_of('..')",
        "name_of('some/words')",
    )
    calls = [CandidateCall("f", f"{one.partition('(')[0]}({{0}})", (one.partition("(")[2][:-1],)) for one in sources]
    found = await observe(stage, calls, trace=True)
    assert isinstance(found, Observed), found
    assert [found.observations[call].views for call in calls] == [
        (),
        (),
        (("len({})", "2"),),
        (),
        (("{}", "'words'"),),
    ]
