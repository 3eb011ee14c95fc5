"""Who calls whom in a workspace: ``->`` for an edge that is certain, ``~>`` for one that is possible."""

from __future__ import annotations

import textwrap

from rolecall_analysis import Snapshot
from rolecall_analysis.flow import CallEdge, call_graph, edges_as_dotted
from support.fixture import parse_fixture


def edges_in(text: str) -> tuple[CallEdge, ...]:
    fixture = parse_fixture(text if "#- " in text else "#- main.py\n" + textwrap.dedent(text))
    return call_graph(Snapshot().with_changes(fixture.files), fixture.files.get)


def check_calls(text: str, *expected: str) -> None:
    """The edges of the workspace *text* (of ``main.py``, if it names no file) are *expected*."""
    found = edges_as_dotted(edges_in(text), has_operators=True)
    arrows = {True: "->", False: "~>"}
    assert {
        f"{caller} {arrows[bool(callee['certain'])]} {callee['callee']}"
        for caller, callees in found.items()
        for callee in callees
    } == set(expected)


def rules_in(text: str) -> set[str]:
    return {edge.rule for edge in edges_in(text)}


def test_a_function_that_is_called_by_name_is_certain() -> None:
    check_calls("def f(): g()\ndef g(): ...\nf()", "main.f -> main.g", "main -> main.f")


def test_a_name_that_was_assigned_means_what_it_was_assigned() -> None:
    check_calls("def f(): ...\ng = f\nh = g\nh()", "main -> main.f")


def test_a_call_is_possible_where_more_than_one_function_could_be_meant() -> None:
    check_calls(
        "def f(): ...\ndef g(): ...\nh = f\nif f():\n    h = g\nh()",
        "main -> main.f",
        "main ~> main.g",
    )
    check_calls(
        """
        def f(): ...
        def g(): ...
        table = {"a": f}
        table["a"] = g
        def run(): table["a"]()
        """,
        "main.run ~> main.f",
        "main.run ~> main.g",
    )


def test_a_neighbour_in_a_package_is_possible_as_a_script_imports_it() -> None:
    check_calls(
        """
        #- shop/__init__.py
        #- shop/price.py
        def total(): ...
        #- shop/main.py
        from price import total
        import price
        def f(): total()
        def g(): price.total()
        """,
        "shop.main.f ~> shop.price.total",
        "shop.main.g ~> shop.price.total",
    )


def test_two_definitions_of_one_name_are_one_function() -> None:
    check_calls("import sys\nif sys.flags.debug:\n    def f(): ...\nelse:\n    def f(): ...\nf()", "main -> main.f")


def test_a_method_that_is_replaced_from_outside_is_possible() -> None:
    check_calls(
        """
        class C:
            def go(self): ...
        def fake(self): ...
        def run(c=C()): c.go()
        def patch(): C.go = fake
        """,
        "main.run ~> main.C.go",
        "main.run ~> main.fake",
    )


def test_a_value_that_nothing_is_known_of_makes_the_others_possible() -> None:
    check_calls(
        """
        import os
        class C:
            def read(self): ...
        def run(c): (c or os.fdopen(0)).read()
        run(C())
        """,
        "main -> main.run",
        "main.run ~> main.C.read",
    )
    check_calls(
        """
        def fallback(): ...
        def run(thing, kind): getattr(thing, f"do_{kind}", fallback)()
        """,
        "main.run ~> main.fallback",
    )


def test_the_default_of_a_lookup_is_possible() -> None:
    check_calls(
        """
        def fallback(): ...
        def run(**options): options.get("hook", fallback)()
        """,
        "main.run ~> main.fallback",
    )


def test_a_receiver_that_makes_up_its_attributes_makes_the_others_possible() -> None:
    check_calls(
        """
        class Log:
            def info(self): ...
        class Silent:
            def __getattr__(self, name): return lambda: None
        def run(flag):
            log = Log() if flag else Silent()
            log.info()
        """,
        "main.run ~> main.Log.info",
    )


def test_what_one_caller_alone_passes_is_called_for_certain_whatever_others_pass() -> None:
    check_calls(
        """
        import os
        class C:
            def read(self): ...
        def run(c): c.read()
        run(C())
        run(os.fdopen(0))
        """,
        "main -> main.run",
        "main.run -> main.C.read",
    )
    check_calls(
        """
        def a(): ...
        def b(): ...
        def c(): ...
        def through(job): run(job)
        def run(job): job()
        through(a)
        run(b if a else c)
        """,
        "main -> main.through",
        "main -> main.run",
        "main.through -> main.run",
        "main.run -> main.a",
        "main.run ~> main.b",
        "main.run ~> main.c",
    )


def test_a_name_is_what_it_was_last_assigned() -> None:
    check_calls(
        """
        def a(): ...
        def b(): ...
        def run(job):
            job()
            job = b
            job()
        job = a
        job()
        job = run
        job(a)
        """,
        "main -> main.a",
        "main -> main.run",
        "main.run -> main.a",
        "main.run -> main.b",
    )


def test_after_a_branch_a_name_is_what_either_side_assigned() -> None:
    check_calls(
        """
        def a(): ...
        def b(): ...
        def run(flag):
            job = a
            if flag:
                job = b
                job()
            job()
        """,
        "main.run -> main.b",
        "main.run ~> main.a",
    )
    check_calls(
        """
        def a(): ...
        def b(): ...
        def run():
            job = a
            try:
                job = b
            except ValueError:
                job()
        """,
        "main.run ~> main.a",
        "main.run ~> main.b",
    )


def test_in_a_loop_a_name_may_be_what_the_round_before_assigned() -> None:
    check_calls(
        """
        def a(): ...
        def b(): ...
        def run(jobs):
            job = a
            while jobs:
                job()
                job = b
        """,
        "main.run ~> main.a",
        "main.run ~> main.b",
    )
    check_calls(
        """
        def a(): ...
        def b(): ...
        def run(job):
            for _ in range(2):
                job()
                job = b
        run(a)
        """,
        "main -> main.run",
        "main.run -> main.a",
        "main.run ~> main.b",
    )


def test_a_name_that_other_functions_assign_may_be_either_after_any_call() -> None:
    check_calls(
        """
        def a(): ...
        def b(): ...
        job = b
        def change():
            global job
            job = b
        job = a
        change()
        job()
        """,
        "main -> main.change",
        "main ~> main.a",
        "main ~> main.b",
    )


def test_what_stands_in_for_a_parameter_that_nobody_passes_is_possible() -> None:
    check_calls(
        """
        class Parser:
            def parse(self): ...
        class Page:
            def __init__(self, parser=None): self.parser = parser or Parser()
            def read(self): self.parser.parse()
        Page().read()
        """,
        "main -> main.Page.__init__",
        "main -> main.Page.read",
        "main.Page.read ~> main.Parser.parse",
    )


def test_a_value_that_has_no_such_method_leaves_the_others_certain() -> None:
    check_calls(
        """
        class C:
            def go(self): ...
        def run(c):
            if c: c.go()
        run(C())
        run(None)
        run(False)
        run(["a"])
        """,
        "main -> main.run",
        "main.run -> main.C.go",
    )


def test_an_iterable_that_may_be_another_makes_its_iteration_possible() -> None:
    check_calls(
        """
        class Row:
            def __iter__(self): return iter([])
        def walk(row):
            for cell in row: ...
        walk(Row())
        walk([])
        """,
        "main -> main.walk",
        "main.walk ~> main.Row.__iter__",
    )


def test_a_slice_holds_any_of_the_elements() -> None:
    check_calls(
        "def f(): ...\ndef g(): ...\nboth = [f, g]\nrest = both[1:]\nrest[0]()",
        "main ~> main.f",
        "main ~> main.g",
    )


def test_a_local_name_hides_the_one_of_the_module() -> None:
    check_calls("def f(): ...\ndef g(f):\n    f()\ng(len)", "main -> main.g")


def test_a_name_declared_global_is_the_one_of_the_module() -> None:
    check_calls(
        "def f(): ...\nhook = None\ndef install():\n    global hook\n    hook = f\ndef run():\n    hook()",
        "main.run -> main.f",
    )


def test_a_nonlocal_name_is_the_one_of_the_function_around() -> None:
    check_calls(
        """
        def f(): ...
        def outer():
            hook = None
            def install():
                nonlocal hook
                hook = f
            install()
            hook()
        """,
        "main.outer -> main.outer.install",
        "main.outer -> main.f",
    )


def test_methods_do_not_see_the_names_of_their_class() -> None:
    check_calls(
        """
        def f(): ...
        class C:
            def f(self): ...
            def g(self): f()
        """,
        "main.C.g -> main.f",
    )


def test_unpacking_tells_the_elements_apart() -> None:
    check_calls(
        """
        def f(): ...
        def g(): ...
        def first():
            a, (b, *c) = f, (g, len)
            a()
        def second(pair=(f, g)):
            a, b = pair
            b()
        """,
        "main.first -> main.f",
        "main.second -> main.g",
    )


def test_a_function_passed_as_an_argument_is_called_where_the_parameter_is() -> None:
    check_calls(
        """
        def f(): ...
        def by_place(a): a()
        def by_name(*, b): b()
        def spread(*args, **kwargs):
            args[0]()
            kwargs["k"]()
        by_place(f)
        by_name(b=f)
        spread(f, k=f)
        """,
        "main -> main.by_place",
        "main -> main.by_name",
        "main -> main.spread",
        "main.by_place -> main.f",
        "main.by_name -> main.f",
        "main.spread -> main.f",
    )


def test_arguments_that_are_handed_on_with_stars_keep_their_places() -> None:
    check_calls(
        """
        def f(): ...
        def g(): ...
        def inner(a, b, c): b()
        def outer(*args, **kwargs): inner(*args, **kwargs)
        outer(f, g, c=f)
        """,
        "main -> main.outer",
        "main.outer -> main.inner",
        "main.inner -> main.g",
    )


def test_a_default_is_what_a_parameter_may_be() -> None:
    check_calls("def f(): ...\ndef g(a=f): a()", "main.g -> main.f")


def test_a_returned_function_is_called() -> None:
    check_calls(
        "def f(): ...\ndef make(): return f\nmake()()",
        "main -> main.make",
        "main -> main.f",
    )


def test_a_closure_sees_what_its_maker_was_given() -> None:
    check_calls(
        """
        def f(): ...
        def make(function):
            def inner():
                return function()
            return inner
        make(f)()
        """,
        "main -> main.make",
        "main -> main.make.inner",
        "main.make.inner -> main.f",
    )


def test_lambdas_are_counted_within_what_encloses_them() -> None:
    check_calls(
        "def f(): ...\na = lambda: f()\nb = lambda: 1\ndef g():\n    c = lambda: f()\n    c()\na()\nb()",
        "main -> main.<lambda1>",
        "main -> main.<lambda2>",
        "main.<lambda1> -> main.f",
        "main.g -> main.g.<lambda1>",
        "main.g.<lambda1> -> main.f",
    )


def test_calling_a_class_calls_its_init_and_gives_an_instance() -> None:
    check_calls(
        """
        class C:
            def __init__(self): self.go()
            def go(self): ...
        class D(C): ...
        def f(): D().go()
        """,
        "main.C.__init__ -> main.C.go",
        "main.f -> main.C.__init__",
        "main.f -> main.C.go",
    )


def test_a_method_called_on_a_returned_object_is_certain() -> None:
    check_calls(
        """
        class C:
            def go(self): return self
            def stop(self): ...
        def make(): return C()
        def f(): make().go().stop()
        """,
        "main.f -> main.make",
        "main.f -> main.C.go",
        "main.f -> main.C.stop",
    )


def test_what_a_method_stores_on_self_is_called_by_another() -> None:
    check_calls(
        """
        class Engine:
            def start(self): ...
        class Car:
            def __init__(self, engine): self.engine = engine
            def drive(self): self.engine.start()
        Car(Engine())
        """,
        "main -> main.Car.__init__",
        "main.Car.drive -> main.Engine.start",
    )


def test_a_base_calls_what_its_subclass_put_on_self() -> None:
    check_calls(
        """
        class A:
            def run(self): self.step()
        class B(A):
            def __init__(self): self.step = self.go
            def go(self): ...
        B().run()
        """,
        "main -> main.B.__init__",
        "main -> main.A.run",
        "main.A.run -> main.B.go",
    )


def test_a_base_calls_the_override_of_the_instance_it_runs_for() -> None:
    check_calls(
        """
        class A:
            def run(self): self.step()
            def step(self): ...
        class B(A):
            def step(self): ...
        B().run()
        """,
        "main -> main.A.run",
        "main.A.run -> main.A.step",
        "main.A.run ~> main.B.step",
    )


def test_super_calls_what_follows_in_the_order_of_the_receiver() -> None:
    check_calls(
        """
        class Root:
            def go(self): ...
        class Left(Root):
            def go(self): super().go()
        class Right(Root):
            def go(self): super(Right, self).go()
        class Both(Left, Right): ...
        Both().go()
        """,
        "main -> main.Left.go",
        "main.Left.go -> main.Root.go",
        "main.Left.go ~> main.Right.go",
        "main.Right.go -> main.Root.go",
    )


def test_static_and_class_methods_are_called_on_the_class_and_on_instances() -> None:
    check_calls(
        """
        class C:
            @staticmethod
            def make(a): a()
            @classmethod
            def build(cls): return cls()
            def go(self): ...
        def f(): ...
        C.make(f)
        C().make(f)
        C.build().go()
        """,
        "main -> main.C.make",
        "main.C.make -> main.f",
        "main -> main.C.build",
        "main -> main.C.go",
    )


def test_reading_and_setting_a_property_may_call() -> None:
    check_calls(
        """
        class C:
            @property
            def size(self): return self.count()
            @size.setter
            def size(self, value): ...
            def count(self): ...
        def read(): return C().size
        def write(): C().size = 1
        """,
        "main.C.size -> main.C.count",
        "main.read ~> main.C.size",
        "main.write ~> main.C.size",
    )


def test_what_a_property_returns_is_followed() -> None:
    check_calls(
        """
        class Engine:
            def start(self): ...
        class Car:
            @property
            def engine(self): return Engine()
            def drive(self): self.engine.start()
        """,
        "main.Car.drive ~> main.Car.engine",
        "main.Car.drive -> main.Engine.start",
    )


def test_a_cached_property_of_the_repository_returns_what_its_function_returns() -> None:
    check_calls(
        """
        class cached_property:
            def __init__(self, function): self.function = function
            def __get__(self, instance, owner): return self.function(instance)
        class Engine:
            def start(self): ...
        class Car:
            @cached_property
            def engine(self): return Engine()
            @cached_property
            def size(self): return 1
            def drive(self): self.engine.start()
        """,
        "main.Car -> main.cached_property.__init__",
        "main.cached_property.__get__ ~> main.Car.engine",
        "main.cached_property.__get__ ~> main.Car.size",
        "main.Car.drive ~> main.Car.engine",
        "main.Car.drive -> main.Engine.start",
    )


def test_a_decorator_is_called_where_it_stands_and_its_wrapper_is_what_is_called() -> None:
    check_calls(
        """
        import functools
        def logged(function):
            @functools.wraps(function)
            def wrapper(*args): return function(*args)
            return wrapper
        @logged
        def f(): ...
        f()
        """,
        "main -> main.logged",
        "main -> main.logged.wrapper",
        "main.logged.wrapper -> main.f",
    )


def test_a_decorator_from_outside_returns_what_it_decorates() -> None:
    check_calls("import click\n@click.command()\ndef f(): ...\nf()", "main -> main.f")


def test_a_callable_instance_is_called() -> None:
    check_calls(
        "class C:\n    def __call__(self): ...\nc = C()\nc()",
        "main -> main.C.__call__",
    )


def test_a_partial_is_called_with_its_arguments() -> None:
    check_calls(
        "from functools import partial\ndef f(): ...\ndef g(a, b):\n    a()\n    b()\npartial(g, f)(f)",
        "main -> main.g",
        "main.g -> main.f",
    )


def test_elements_are_told_apart_by_literal_keys_and_merged_for_others() -> None:
    check_calls(
        """
        def f(): ...
        def g(): ...
        table = {"f": f, "g": g}
        def known(): table["f"]()
        def unknown(key): table[key]()
        def every():
            for function in table.values():
                function()
        """,
        "main.known -> main.f",
        "main.unknown ~> main.f",
        "main.unknown ~> main.g",
        "main.every ~> main.f",
        "main.every ~> main.g",
    )


def test_a_key_that_is_passed_as_a_literal_is_followed() -> None:
    check_calls(
        """
        def f(): ...
        def g(): ...
        def run(table, key): table[key]()
        name = "f"
        table = {}
        table[name] = f
        table["g"] = g
        run(table, name)
        """,
        "main -> main.run",
        "main.run -> main.f",
    )


def test_what_is_appended_comes_out_again() -> None:
    check_calls(
        """
        def f(): ...
        hooks = []
        hooks.append(f)
        def run():
            for hook in hooks:
                hook()
            [hook() for hook in sorted(hooks)]
        """,
        "main.run -> main.f",
    )


def test_pairs_of_items_and_of_enumerate_and_zip_are_unpacked() -> None:
    check_calls(
        """
        def f(): ...
        table = {"f": f}
        def by_items():
            for name, function in table.items(): function()
        def by_count():
            for n, function in enumerate([f]): function()
        def by_zip():
            for n, function in zip([1], [f]): function()
        """,
        "main.by_items -> main.f",
        "main.by_count -> main.f",
        "main.by_zip -> main.f",
    )


def test_a_generator_gives_what_it_yields() -> None:
    check_calls(
        """
        def f(): ...
        def inner(): yield f
        def outer(): yield from inner()
        for g in outer(): g()
        next(inner())()
        """,
        "main -> main.outer",
        "main.outer -> main.inner",
        "main -> main.inner",
        "main -> main.f",
    )


def test_iterating_calls_the_methods_of_the_iterator() -> None:
    check_calls(
        """
        def f(): ...
        class C:
            def __iter__(self): return self
            def __next__(self): return f
        for g in C(): g()
        """,
        "main -> main.C.__iter__",
        "main -> main.C.__next__",
        "main -> main.f",
    )


def test_with_enters_and_leaves() -> None:
    check_calls(
        """
        from contextlib import contextmanager
        class C:
            def __enter__(self): return self
            def __exit__(self, *args): ...
            def go(self): ...
        @contextmanager
        def opened():
            yield C()
        def f():
            with C() as c, opened() as d:
                c.go()
        """,
        "main.f -> main.C.__enter__",
        "main.f -> main.C.__exit__",
        "main.f -> main.opened",
        "main.f -> main.C.go",
    )


def test_raising_a_class_calls_its_init_and_except_binds_an_instance() -> None:
    check_calls(
        """
        class Failed(Exception):
            def __init__(self): ...
            def explain(self): ...
        def f():
            try:
                raise Failed
            except (Failed, ValueError) as error:
                error.explain()
        """,
        "main.f -> main.Failed.__init__",
        "main.f -> main.Failed.explain",
    )


def test_an_operator_may_run_a_method() -> None:
    check_calls(
        """
        class Money:
            def __add__(self, other): return self
            def __getitem__(self, key): ...
            def show(self): ...
        def f(): (Money() + Money()).show()
        def g(): Money()[1]
        """,
        "main.f ~> main.Money.__add__",
        "main.f -> main.Money.show",
        "main.g ~> main.Money.__getitem__",
    )


def test_what_is_awaited_is_what_was_returned() -> None:
    check_calls(
        """
        class C:
            def go(self): ...
        async def make(): return C()
        async def f(): (await make()).go()
        """,
        "main.f -> main.make",
        "main.f -> main.C.go",
    )


def test_a_function_passed_to_the_library_is_possibly_called() -> None:
    check_calls(
        "def f(x): ...\nlist(map(f, [1]))\nsorted([1], key=f)",
        "main ~> main.f",
    )


def test_a_thread_passes_its_arguments_on() -> None:
    check_calls(
        """
        from threading import Thread
        class C:
            def go(self): ...
        def work(c): c.go()
        def f(): Thread(target=work, args=(C(),)).start()
        """,
        "main.f ~> main.work",
        "main.work ~> main.C.go",
    )


def test_attributes_are_read_and_set_by_literal_name() -> None:
    check_calls(
        """
        def f(): ...
        class C:
            def go(self): ...
        c = C()
        setattr(c, "hook", f)
        getattr(c, "go")()
        c.hook()
        """,
        "main -> main.C.go",
        "main -> main.f",
    )


def test_an_evaluated_literal_is_read_as_code() -> None:
    check_calls('def f(): ...\neval("f()")', "main -> main.f")


def test_an_annotation_promises_what_nothing_else_tells() -> None:
    check_calls(
        """
        from typing import Optional
        class C:
            def go(self): ...
        class Box:
            item: "C | None" = None
        def plain(c: C): c.go()
        def quoted(c: "Optional[C]"): c.go()
        def every(cs: list[C]):
            for c in cs: c.go()
        def returned(make):
            return typed().go()
        def typed() -> C: ...
        def stored(): Box().item.go()
        """,
        "main.plain ~> main.C.go",
        "main.quoted ~> main.C.go",
        "main.every ~> main.C.go",
        "main.returned -> main.typed",
        "main.returned ~> main.C.go",
        "main.stored ~> main.C.go",
    )


def test_a_type_check_lets_through_what_fits_and_promises_what_is_not_known() -> None:
    check_calls(
        """
        class A:
            def go(self): ...
        class B:
            def go(self): ...
        def known(x):
            if isinstance(x, A):
                x.go()
            y = x.go() if isinstance(x, B) else None
        def unknown(x):
            return isinstance(x, (A, B)) and x.go()
        def kept(xs):
            return [x.go() for x in xs if isinstance(x, B)]
        known(A())
        """,
        "main -> main.known",
        "main.known -> main.A.go",
        "main.known ~> main.B.go",
        "main.unknown ~> main.A.go",
        "main.unknown ~> main.B.go",
        "main.kept ~> main.B.go",
    )


def test_what_a_function_makes_of_its_argument_is_told_apart_by_call() -> None:
    check_calls(
        """
        def f(): ...
        def g(): ...
        def same(x): return x
        def wrap(function):
            def inner(): return function()
            return inner
        def first(): same(f)()
        def second(): same(g)()
        def third(): return wrap(make)().go()
        class C:
            def go(self): ...
        def make(): return C()
        wrap(f)()
        """,
        "main.first -> main.same",
        "main.first -> main.f",
        "main.second -> main.same",
        "main.second -> main.g",
        "main.third -> main.wrap",
        "main.third -> main.wrap.inner",
        "main.third -> main.C.go",
        "main.wrap.inner ~> main.make",
        "main.wrap.inner ~> main.f",
        "main -> main.wrap",
        "main -> main.wrap.inner",
    )


def test_a_class_is_told_apart_from_others_under_the_same_decorator() -> None:
    check_calls(
        """
        def register(cls): return cls
        @register
        class A:
            def __init__(self): ...
        @register
        class B:
            def __init__(self): ...
        def f(): return A()
        """,
        "main -> main.register",
        "main.f -> main.A.__init__",
    )


def test_a_call_on_self_may_reach_overrides_and_methods_that_only_subclasses_have() -> None:
    check_calls(
        """
        class A:
            def run(self):
                self.step()
                self.finish()
            def step(self): ...
        class B(A):
            def step(self): ...
            def finish(self): ...
        """,
        "main.A.run -> main.A.step",
        "main.A.run ~> main.B.step",
        "main.A.run ~> main.B.finish",
    )


def test_a_slice_of_a_list_is_a_list() -> None:
    check_calls("def f(): ...\nfor g in [f, f][1:]: g()", "main -> main.f")


def test_an_expression_that_may_be_nearly_anything_is_not_followed() -> None:
    functions = "".join(f"def f{i}(): ...\n" for i in range(100))
    check_calls(functions + f"anything = [{', '.join(f'f{i}' for i in range(100))}]\nfor f in anything: f()")


def test_the_fields_of_a_data_class_hold_its_arguments() -> None:
    check_calls(
        """
        from dataclasses import dataclass
        def f(): ...
        @dataclass
        class C:
            name: str
            hook: object
        C("a", f).hook()
        C("a", hook=f).hook()
        """,
        "main -> main.f",
    )


def test_the_members_of_an_enumeration_are_its_instances() -> None:
    check_calls(
        """
        from enum import Enum
        class Color(Enum):
            RED = 1
            def show(self): ...
        Color.RED.show()
        for color in Color: color.show()
        """,
        "main -> main.Color.show",
    )


def test_an_unknown_receiver_is_guessed_by_a_name_that_few_classes_have() -> None:
    check_calls(
        """
        class Cart:
            def checkout(self, card): ...
        class Hotel:
            def checkout(self): ...
        def f(x): x.checkout(1)
        def g(x): x.checkout(1, 2)
        """,
        "main.f ~> main.Cart.checkout",
    )


def test_a_guess_needs_a_class_with_everything_that_is_used() -> None:
    check_calls(
        """
        class Cart:
            def checkout(self): ...
            def add(self, item): ...
        class Hotel:
            def checkout(self): ...
        def f(x):
            x.add(1)
            x.checkout()
        """,
        "main.f ~> main.Cart.checkout",
        "main.f ~> main.Cart.add",
    )


def test_names_that_every_list_or_text_has_are_not_guessed() -> None:
    check_calls("class C:\n    def append(self, x): ...\ndef f(x): x.append(1)")


def test_a_value_from_outside_is_not_guessed() -> None:
    check_calls("import json\nclass C:\n    def checkout(self): ...\njson.loads('').checkout()\n'a'.checkout()")


def test_imports_lead_through_packages_stars_and_cycles() -> None:
    check_calls(
        """
        #- shop/__init__.py
        from .price import total
        from . import cart
        #- shop/price.py
        from shop.names import *
        from shop import cart as other
        def total(): shown(other.checkout)
        #- shop/names.py
        __all__ = ["shown"]
        def shown(f): f()
        def hidden(): ...
        #- shop/cart.py
        import shop.price
        def checkout(): shop.price.total()
        #- main.py
        import shop
        from shop.names import *
        shop.total()
        shop.cart.checkout()
        hidden()
        """,
        "main -> shop.price.total",
        "main -> shop.cart.checkout",
        "shop.price.total -> shop.names.shown",
        "shop.names.shown -> shop.cart.checkout",
        "shop.cart.checkout -> shop.price.total",
    )


def test_a_module_imported_by_a_literal_name_is_followed() -> None:
    check_calls(
        """
        #- plugin.py
        def run(): ...
        #- main.py
        import importlib
        importlib.import_module("plugin").run()
        """,
        "main -> plugin.run",
    )


def test_a_name_set_on_a_module_from_outside_is_called() -> None:
    check_calls(
        """
        #- config.py
        hook = None
        def run(): hook()
        #- main.py
        import config
        def f(): ...
        config.hook = f
        """,
        "config.run -> main.f",
    )


def test_each_edge_says_its_rule() -> None:
    assert rules_in(
        """
        #- other.py
        def helped(): ...
        class Base:
            def kept(self): ...
            def go(self): ...
        #- main.py
        from other import Base, helped
        class C(Base):
            def go(self):
                super().go()
                self.kept()
                self.own()
                helped()
                local()
                passed(local)
            def own(self): ...
        def local(): ...
        def passed(f): f()
        """
    ) == {"super", "inherited", "attribute of self", "import", "name in scope", "value flow"}


def test_an_edge_has_the_span_of_its_call() -> None:
    (edge,) = edges_in("def é(): ...\nx = 'é', é(\n)")
    assert (edge.span.start.line, edge.span.start.column) == (1, 9)
    assert (edge.span.end.line, edge.span.end.column) == (2, 1)


def test_only_callers_below_a_folder_are_told_when_one_is_given() -> None:
    fixture = parse_fixture(
        """
        #- src/shop/price.py
        def total(): ...
        #- src/shop/cart.py
        from shop.price import total
        total()
        #- main.py
        from shop.price import total
        total()
        """
    )
    edges = call_graph(Snapshot().with_changes(fixture.files), fixture.files.get, "src")
    assert edges_as_dotted(edges, "src") == {"shop.cart": [{"callee": "shop.price.total", "certain": True}]}


def test_the_function_of_a_command_is_called_through_what_the_parser_returns() -> None:
    check_calls(
        """
        import argparse
        def add(args): ...
        def remove(args): ...
        def main():
            parser = argparse.ArgumentParser()
            commands = parser.add_subparsers()
            commands.add_parser("add").set_defaults(func=add)
            removing = commands.add_parser("remove")
            removing.set_defaults(func=remove)
            args = parser.parse_args()
            args.func(args)
        """,
        "main.main ~> main.add",
        "main.main ~> main.remove",
    )
