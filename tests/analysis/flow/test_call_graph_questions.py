"""What an editor asks: whom does this call reach, and who calls this definition?"""

from __future__ import annotations

from rolecall_analysis import Position, Snapshot
from rolecall_analysis.flow import callees_at, callers_of
from support.fixture import parse_fixture


def check_callees(text: str, *expected: str) -> None:
    """The callees of the call at the cursor are *expected*, with ``?`` after those that are possible."""
    fixture = parse_fixture(text)
    assert fixture.cursor is not None
    place = Position(fixture.cursor.line, fixture.cursor.column)
    found = callees_at(Snapshot().with_changes(fixture.files), fixture.files.get, fixture.cursor.path, place)
    assert [f"{edge.callee_path}:{edge.callee_name}{'' if edge.certain else '?'}" for edge in found] == list(expected)


def check_callers(text: str, name: str) -> None:
    """The callers of *name* in ``main.py`` are the lines labelled ``certain`` and ``possible``."""
    fixture = parse_fixture(text)
    found = callers_of(Snapshot().with_changes(fixture.files), fixture.files.get, "main.py", name)
    for certain, label in ((True, "certain"), (False, "possible")):
        lines = {(edge.caller_path, edge.span.start.line) for edge in found if edge.certain is certain}
        assert lines == {(place.path, place.line) for place in fixture.labels.get(label, ())}, label


def test_a_call_through_several_modules_is_followed() -> None:
    check_callees(
        """
        #- shop/__init__.py
        from shop.cart import make_cart
        #- shop/cart.py
        class Cart:
            def checkout(self): ...
        def make_cart(): return Cart()
        #- main.py
        import shop
        def f():
            cart = shop.make_cart()
            cart.check<CURSOR>out()
        """,
        "shop/cart.py:Cart.checkout",
    )


def test_the_innermost_call_is_meant() -> None:
    check_callees(
        """
        #- main.py
        def f(x): ...
        def g(): ...
        f(<CURSOR>g())
        """,
        "main.py:g",
    )


def test_an_attribute_set_by_another_method_is_found() -> None:
    check_callees(
        """
        #- main.py
        class Engine:
            def start(self): ...
        class Car:
            def __init__(self): self.repair()
            def repair(self): self.engine = Engine()
            def drive(self): self.engine.<CURSOR>start()
        """,
        "main.py:Engine.start",
    )


def test_what_callers_pass_is_looked_for_where_nothing_else_tells() -> None:
    check_callees(
        """
        #- garage.py
        from main import drive, Engine
        drive(Engine())
        #- main.py
        class Engine:
            def start(self): ...
        class Show:
            def start(self): ...
        def drive(engine): engine.<CURSOR>start()
        """,
        "main.py:Engine.start?",
    )


def test_a_nested_function_sees_the_names_around_it() -> None:
    check_callees(
        """
        #- main.py
        class C:
            def go(self): ...
        def outer():
            c = C()
            def inner():
                c.<CURSOR>go()
        """,
        "main.py:C.go",
    )


def test_a_call_of_the_module_itself_is_followed() -> None:
    check_callees(
        """
        #- main.py
        class C:
            def go(self): ...
        c = C()
        c.<CURSOR>go()
        """,
        "main.py:C.go",
    )


def test_nowhere_and_no_file_have_no_callees() -> None:
    snapshot = Snapshot().with_changes({"main.py": "x = 1\n"})
    texts = {"main.py": "x = 1\n"}
    assert callees_at(snapshot, texts.get, "main.py", Position(90, 3)) == ()
    assert callees_at(snapshot, texts.get, "absent.py", Position(0, 0)) == ()
    assert callers_of(snapshot, texts.get, "main.py", "absent") == ()


def test_callers_are_found_in_other_files_and_through_returned_objects() -> None:
    check_callers(
        """
        #- main.py
        class Cart:
            def checkout(self): ...
        def make(): return Cart()
        def f(): make().checkout()  #@ certain
        #- other.py
        from main import make
        def g(): make().checkout()  #@ certain
        def h(cart): cart.checkout()  #@ possible
        """,
        "Cart.checkout",
    )


def test_the_callers_of_a_class_are_those_of_its_init() -> None:
    check_callers(
        """
        #- main.py
        class Cart:
            def __init__(self): ...
        #- other.py
        import main
        main.Cart()  #@ certain
        """,
        "Cart",
    )


def test_a_function_that_is_passed_on_is_called_where_the_parameter_is() -> None:
    check_callers(
        """
        #- main.py
        def hook(): ...
        #- other.py
        from main import hook
        def run(function):
            function()  #@ possible
        def f(): run(hook)
        """,
        "hook",
    )


def test_a_stub_that_orders_its_classes_otherwise_leaves_a_module_its_callers() -> None:
    check_callers(
        """
        #- main.py
        def note(): ...
        class Match:
            def __init__(self, pattern, start, end=None): ...
        def find(): return Match("x", 3)  #@ certain
        #- main.pyi
        class Match:
            def __init__(self, pattern: str, start: int, end: int = 0) -> None: ...
            def again(self, start: int = 0, end: int = 0) -> Match: ...
        def note() -> None: ...
        def find() -> Match: ...
        """,
        "Match",
    )


def test_a_script_beside_a_package_of_its_name_calls_its_own_functions() -> None:
    check_callees(
        """
        #- shop/__init__.py
        class Cart: ...
        def make(): return Cart()
        #- shop.py
        from shop import make as make_empty
        def make(): return make_empty
        <CURSOR>make()
        """,
        "shop.py:make",
    )


def test_a_file_that_is_written_while_a_question_is_answered_stays_what_it_was() -> None:
    before = "class C:\n    def go(self, to=1): ...\ndef f(): C().go()\n"
    reads = iter([before])
    snapshot = Snapshot().with_changes({"main.py": before})
    edges = callers_of(snapshot, lambda _: next(reads, "def f(): ...\nx = f\n"), "main.py", "C.go")
    assert [(edge.caller_name, edge.certain) for edge in edges] == [("f", True)]
