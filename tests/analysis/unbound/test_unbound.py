"""Which reads may find no value. A line that says `# certain` or `# possible` is to be reported so, no other is."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from rolecall_analysis.syntax import MAX_SOURCE_BYTES
from rolecall_analysis.unbound import unbound_reads


def check(text: str, path: str = "m.py") -> None:
    source = textwrap.dedent(text)
    labels = (line.rpartition("# ")[2] for line in source.split("\n"))
    wanted = [(number, label) for number, label in enumerate(labels) if label in ("certain", "possible")]
    found = {(read.span.start.line, "certain" if read.certain else "possible") for read in unbound_reads(path, source)}
    assert sorted(found) == wanted


def test_a_read_tells_its_name_scope_and_place() -> None:
    (read,) = unbound_reads("m.py", "class C:\n    def m(self):\n        é = (é)\n")
    assert (read.path, read.name, read.scope, read.certain) == ("m.py", "é", "C.m", True)
    assert (read.span.start.line, read.span.start.column, read.span.end.column) == (2, 13, 14)


def test_a_branch_that_may_not_be_taken_leaves_a_name_without_a_value() -> None:
    check("""
        def f(a, b):
            if a:
                x = 1
            elif b:
                x = 2
            print(x)  # possible
            print(x)
    """)


def test_branches_that_all_bind_or_leave_are_fine() -> None:
    check("""
        def f(a):
            if a == 1:
                x = 1
            elif a == 2:
                return None
            else:
                raise ValueError
            return x
    """)


def test_what_is_bound_later_has_no_value_yet() -> None:
    check("""
        x = 1
        def f():
            print(x)  # certain
            x = 2
        print(g)  # certain
        def g(): ...
    """)


def test_loops_may_run_no_time_at_all() -> None:
    check("""
        def f(rows, more):
            for row in rows:
                x = row
            print(row)  # possible
            print(x)  # possible
            while more():
                y = 1
            else:
                z = 1
            print(z)
            print(y)  # possible
    """)


def test_a_loop_over_something_runs_at_least_once() -> None:
    check("""
        def f():
            for x in (1, 2):
                y = x
            for z in range(3):
                pass
            print(x, y, z)
            for nothing in []:
                pass
            print(nothing)  # certain
    """)


def test_a_range_that_is_not_the_builtin_one_may_be_empty() -> None:
    check("""
        def f():
            def range(n): return []
            for x in range(3):
                pass
            print(x)  # possible
    """)


def test_two_loops_over_the_same_thing_both_run_or_neither_does() -> None:
    check("""
        def f(rows):
            for row in rows:
                x = row
            for number, row in enumerate(rows):
                print(x)
        def g(rows):
            if not rows:
                return
            for row in rows:
                x = row
            print(x)
        def h(rows):
            for row in rows:
                x = row
            rows = other()
            for row in rows:
                print(x)  # possible
    """)


def test_break_and_continue_leave_from_where_they_stand() -> None:
    check("""
        def f(rows, flag):
            while True:
                if flag():
                    x = 1
                    break
            print(x)
            for row in rows:
                if flag():
                    continue
                y = 1
                break
            else:
                y = 2
            print(y)
            while True:
                if flag():
                    break
                z = 1
            print(z)  # possible
    """)


def test_an_exception_may_come_before_the_assignment() -> None:
    check("""
        def f(load):
            try:
                x = load()
            except ValueError:
                print(x)  # certain
            print(x)
        def g(load):
            try:
                x = load()
            except ValueError:
                pass
            print(x)  # possible
        def h(load):
            try:
                x = load()
            except ValueError:
                return None
            else:
                y = x
            return x, y
    """)


def test_what_the_else_does_hides_nothing_from_the_handlers() -> None:
    check("""
        def f(load, rows):
            try:
                x = load()
            except ValueError:
                print(x, y)  # certain
            else:
                y = x or [row for row in rows]
    """)


def test_what_cannot_raise_does_not_reach_a_handler() -> None:
    check("""
        def f():
            try:
                x = 1
            except ValueError:
                pass
            print(x)
    """)


def test_finally_is_walked_for_each_way_out() -> None:
    check("""
        def f(load):
            try:
                x = load()
            finally:
                print("done")
            print(x)
        def g(load):
            try:
                x = load()
                return x
            finally:
                print(x)  # possible
        def h(load):
            while True:
                try:
                    x = load()
                    break
                finally:
                    load()
            print(x)
    """)


def test_the_name_of_a_caught_exception_is_gone_afterwards() -> None:
    check("""
        def f(load):
            try:
                load()
            except ValueError as e:
                print(e)
            print(e)  # certain
    """)


def test_a_handler_of_name_errors_asks_whether_there_is_a_value() -> None:
    check("""
        try:
            registry
        except NameError:
            registry = {}
        print(registry)
        def f():
            return registry
    """)


def test_with_may_swallow_an_exception() -> None:
    check("""
        from contextlib import suppress
        class Quiet:
            def __enter__(self): ...
            def __exit__(self, *_) -> bool: ...
        class Quieter(Quiet): ...
        class Loud:
            def __exit__(self, *_) -> None: ...
        def f(load):
            with suppress(ValueError):
                x = load()
            print(x)  # possible
            with Quieter() as q:
                y = load()
            print(y)  # possible
            with Loud(), open("a") as file:
                z = load()
            print(z, file)
    """)


def test_del_takes_the_value_away() -> None:
    check("""
        def f(rows):
            x = 1
            del x
            print(x)  # certain
            y = 1
            for row in rows:
                del y  # possible
    """)


def test_patterns_bind_when_they_match() -> None:
    check("""
        def f(a):
            match a:
                case [x, *rest] if x:
                    y = 1
                case {"k": value, **others}:
                    y = value
                case Point(left=p) as point:
                    y = p
                case _:
                    y = 2
            print(y)
            print(rest)  # possible
            match a:
                case 1:
                    z = 1
                case 2:
                    z = 2
            print(z)  # possible
    """)


def test_a_walrus_binds_if_it_is_reached() -> None:
    check("""
        def f(a, b):
            if a and (x := b):
                print(x)
            else:
                print(x)  # possible
            if a or (y := b):
                print(y)  # possible
            print((z if (z := a) else 0), [w for _ in a if (w := b)])
            print(w)  # possible
    """)


def test_the_same_condition_gives_the_same_answer() -> None:
    check("""
        def f(a, b, c):
            if a is not None and b:
                x = 1
            if a is not None and b:
                print(x)
            if not (c == 1):
                y = 1
            if c != 1:
                print(y)
            if c:
                z = 1
            c = other()
            if c:
                print(z)  # possible
            if next(a):
                w = 1
            if next(a):
                print(w)  # possible
    """)


def test_a_flag_remembers_whether_a_name_was_bound() -> None:
    check("""
        def f(rows):
            found = False
            best = None
            for row in rows:
                if row:
                    found = True
                    hit = row
                    best = [row]
                    other = row
            if found:
                print(hit)
            if best is not None:
                print(other)
            print(hit)  # possible
    """)


def test_calls_that_never_return_end_the_way() -> None:
    check("""
        import sys
        import argparse
        from os import _exit as leave
        from typing import NoReturn
        def fail(why) -> NoReturn: ...
        def give_up():
            raise SystemExit(1)
        def usage():
            print("usage")
            give_up()
        def f(a):
            parser = argparse.ArgumentParser()
            if a == 1:
                x = 1
            elif a == 2:
                sys.exit()
            elif a == 3:
                leave(1)
            elif a == 4:
                fail("a")
            elif a == 5:
                usage()
            elif a == 6:
                parser.error("a")
            else:
                assert False, "never"
            print(x)
    """)


def test_what_subclasses_override_may_return() -> None:
    check("""
        class Base:
            def stop(self):
                raise NotImplementedError
            def f(self, a):
                if a:
                    x = 1
                else:
                    self.stop()
                print(x)  # possible
    """)


def test_comprehensions_have_names_of_their_own() -> None:
    check("""
        def f(rows):
            print([x for x in rows if x], {k: v for k, v in rows})
            print([y for x in rows])  # certain
            y = x = 1
    """)


def test_functions_see_what_is_bound_until_they_run() -> None:
    check("""
        def f(flag):
            def inner():
                return x
            if flag:
                x = 1
            return inner, lambda: x, (x for _ in flag)
        def g():
            return later
        later = 1
    """)


def test_outer_names_are_judged_where_they_belong() -> None:
    check("""
        def f():
            count: int
            def inner():
                nonlocal count
                count = 1
            inner()
            print(count)
            n = 1
            def other():
                n = n + 1  # certain
            other()
        def g():
            global made
            print(made)
            made = 1
    """)


def test_a_bare_annotation_binds_nothing() -> None:
    check("""
        def f():
            x: int
            print(x)  # certain
    """)


def test_class_bodies_run_where_they_stand_and_fall_back_to_the_module() -> None:
    check("""
        size = 1
        class C:
            size = size
            if size:
                y = 1
            z = y  # possible
            default = later  # certain
            def m(self):
                return y_of_module, self
        later = y_of_module = 1
    """)


def test_names_for_type_checkers_are_missing_at_run_time() -> None:
    check("""
        from __future__ import annotations
        from typing import TYPE_CHECKING
        if TYPE_CHECKING:
            from shop import Cart
        def f(cart: Cart) -> Cart:
            return Cart()  # certain
    """)


def test_a_name_that_run_time_may_lack_is_told_unless_its_import_may_fail() -> None:
    check("""
        from typing import TYPE_CHECKING
        if TYPE_CHECKING:
            from shop import Cart, Till
        elif input():
            from shop import Cart
        else:
            try:
                from shop import Till
            except ImportError:
                pass
        def f(till):
            if TYPE_CHECKING:
                assert isinstance(till, Cart)
            print(Cart)  # possible
            print(Till)
    """)


def test_a_package_has_the_names_of_the_submodules_it_imports_from() -> None:
    text = """
        from .price import total
        del price, total{}
    """
    check(text.format(""), path="shop/__init__.py")
    check("def f():" + textwrap.indent(textwrap.dedent(text.format("  # certain")), "    ") + "    price = 1")


def test_a_name_that_only_some_module_paths_bind_is_left_to_its_functions() -> None:
    check("""
        try:
            import winreg
        except ImportError:
            pass
        def f():
            return winreg.x
    """)


def test_annotations_are_read_where_python_evaluates_them() -> None:
    forward = """
        def f(a: Later) -> None: ...  {}
        class Later: ...
    """
    check(forward.format("# possible"))
    check("from __future__ import annotations\n" + textwrap.dedent(forward.format("")))
    check(forward.format(""), path="m.pyi")


def test_builtins_stand_in_at_module_level_but_not_in_functions() -> None:
    check("""
        if flag:
            input = raw_input
        input()
        def f(flag):
            if flag:
                input = None
            input()  # possible
    """)


def test_a_star_import_may_bind_anything() -> None:
    check("""
        from shop import *
        print(cart)
        cart = 1
    """)


def test_a_broken_function_is_left_out_and_the_others_are_not() -> None:
    check("""
        def f():
            print(x)
            x = = 1
        def g():
            print(y)  # certain
            y = 1
    """)


def test_code_that_nothing_reaches_is_not_judged() -> None:
    check("""
        def f():
            return 1
            print(x)
            x = 1
    """)


@pytest.mark.parametrize(
    "text",
    [
        "def f():\n" + "".join(" " * n + "if a:\n" for n in range(1, 3_000)) + " " * 3_000 + "x",
        "def f():\n    return " + " and ".join(["a"] * 10_000),
        "def f():\n    return " + "(" * 5_000 + "x" + ")" * 5_000,
        "x = " + "a if b else " * 5_000 + "c",
        "def f():\n"
        + "".join(f"{' ' * n}try:\n{' ' * n} a()\n{' ' * n}finally:\n" for n in range(1, 60))
        + " " * 60
        + "x",
        "x" * (MAX_SOURCE_BYTES + 1),
    ],
    ids=["indentation", "conjunction", "parentheses", "choices", "finally in finally", "too large"],
)
def test_no_text_is_too_deep(text: str) -> None:
    unbound_reads("m.py", text)


def test_this_package_reads_no_name_too_early() -> None:
    import rolecall_analysis

    package = Path(rolecall_analysis.__file__).parent
    found = [read for file in package.rglob("*.py") for read in unbound_reads(str(file), file.read_text("utf-8"))]
    assert found == []


def test_a_function_whose_annotation_in_quotes_says_that_it_never_returns_ends_a_way() -> None:
    check("""
        class Shop:
            def stop(self) -> "NoReturn":
                self.till.close()

            def total(self, a):
                if a:
                    x = 1
                else:
                    self.stop()
                return x
    """)


def test_a_manager_that_swallows_exceptions_may_leave_the_parts_of_its_value_unbound() -> None:
    check("""
        class Manager:
            def __enter__(self):
                return []
            def __exit__(self, *error) -> bool:
                return True

        def f():
            with Manager() as (x, y):
                pass
            return x  # possible
    """)
