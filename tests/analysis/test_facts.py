"""What is read from one Python file."""

from __future__ import annotations

import textwrap

import pytest

from rolecall_analysis import Call, Definition, FileFacts, Import, Position, Snapshot, Span, text_in


def facts_of(text: str) -> FileFacts:
    """The facts of a dedented file."""
    return Snapshot().with_changes({"m.py": textwrap.dedent(text)}).files["m.py"]


def definition(text: str, qualified_name: str) -> Definition:
    """The one definition of that name."""
    (found,) = [d for d in facts_of(text).definitions if d.qualified_name == qualified_name]
    return found


def test_definitions_know_their_kind_and_nesting() -> None:
    facts = facts_of(
        """
        LIMIT: int = 3
        left, (right, *rest) = 1, (2, 3)

        class Cart:
            size = 0

            def total(self):
                subtotal = 0
                def rounded():
                    return subtotal
                return rounded()

            class Line: ...

        async def checkout(): ...
        """
    )
    assert [(d.kind, d.qualified_name) for d in facts.definitions] == [
        ("variable", "LIMIT"),
        ("variable", "left"),
        ("variable", "right"),
        ("variable", "rest"),
        ("class", "Cart"),
        ("variable", "Cart.size"),
        ("method", "Cart.total"),
        ("function", "Cart.total.rounded"),
        ("class", "Cart.Line"),
        ("function", "checkout"),
    ]


def test_definitions_inside_statements_count() -> None:
    facts = facts_of(
        """
        try:
            from fast import total
        except ImportError:
            def total(): ...
        if True:
            with open("x") as stream:
                class Inner: ...
        """
    )
    assert [d.qualified_name for d in facts.definitions] == ["total", "Inner"]


@pytest.mark.parametrize(
    ("source", "signature"),
    [
        ("def f(a, *, b: int = 1, **rest) -> dict[str, int]: return {}", None),
        ("async def f(): ...", "async def f()"),
        ("def f(\n    a,\n    b=(1, 2),\n) -> None:\n    pass", "def f(a, b=(1, 2)) -> None"),
        ("def f(\r\n    a,\r\n):\r\n    pass", "def f(a)"),
        ("class f(Base, metaclass=Meta): x = {1: 2}", "class f(Base, metaclass=Meta)"),
        ("def f[T: int](a: T) -> T: ...", "def f[T: int](a: T) -> T"),
        ("def f(a=lambda x: x): ...", "def f(a=lambda x: x)"),
        ("def f(\n    a,  # the first\n): ...", "def f(\n    a,  # the first\n)"),
        ("f: int = 3", "f: int = 3"),
        ("f = [\n    1,\n    2,\n]", "f = [ 1, 2, ]"),
        (f"f = {'x' * 100!r}", "f = ..."),
        ("type f = int | str", "type f = int | str"),
    ],
)
def test_a_signature_is_what_a_caller_needs_to_see(source: str, signature: str | None) -> None:
    expected = source.partition(": return")[0] if signature is None else signature
    assert definition(source, "f").signature == expected


@pytest.mark.parametrize(
    ("body", "docstring"),
    [
        ('"""Total.\n\n    Of it all.\n    """', "Total.\n\nOf it all."),
        ('"""Total.\r\n\r\n    Of it all.\r\n    """', "Total.\n\nOf it all."),
        ("# why\n    'Total.'\n    return 1", "Total."),
        (r"r'a \d'", r"a \d"),
        (r"'a\nb'", r"a\nb"),
        ("f'Total {1}.'", ""),
        ("b'Total.'", ""),
        ("x = 'Total.'", ""),
        ("return 'Total.'", ""),
        ("''", ""),
    ],
)
def test_a_docstring_is_the_plain_string_a_body_begins_with(body: str, docstring: str) -> None:
    assert definition(f"def f():\n    {body}\n", "f").docstring == docstring
    assert facts_of(body.replace("\n    ", "\n")).docstring == docstring


def test_a_span_covers_decorators_and_the_name_span_only_the_name() -> None:
    text = "import app\n\n@app.route('/')\n@cached\ndef index():\n    return 1\n\nx = 1\n"
    found = definition(text, "index")
    assert found.decorators == ("app.route('/')", "cached")
    assert text_in(text, found.span) == "@app.route('/')\n@cached\ndef index():\n    return 1"
    assert text_in(text, found.name_span) == "index"


@pytest.mark.parametrize(
    ("decorator", "is_property"),
    [("property", True), ("functools.cached_property", True), ("f.setter", True), ("cached", False), ("f(1)", False)],
)
def test_a_definition_knows_whether_it_is_a_property(decorator: str, is_property: bool) -> None:
    assert definition(f"class C:\n    @{decorator}\n    def f(self): ...", "C.f").is_property == is_property


def test_bases_are_dotted_names_without_their_type_arguments() -> None:
    assert definition("class C(a.B, Generic[T], make(), metaclass=M): ...", "C").bases == ("a.B", "Generic")


def test_an_import_tells_what_it_binds_and_from_where() -> None:
    facts = facts_of(
        """
        from __future__ import annotations
        import os.path, sys as system
        from ..shop . price import (total as price_total, tax)
        from . import sibling
        from m import *
        def f():
            import late
        """
    )
    named = [(i.level, i.module, i.name, i.bound_name, i.scope) for i in facts.imports]
    assert named == [
        (0, "__future__", "annotations", "annotations", ""),
        (0, "os.path", None, "os", ""),
        (0, "sys", None, "system", ""),
        (2, "shop.price", "total", "price_total", ""),
        (2, "shop.price", "tax", "tax", ""),
        (1, "", "sibling", "sibling", ""),
        (0, "m", "*", "*", ""),
        (0, "late", None, "late", "f"),
    ]
    assert [i.is_star for i in facts.imports].count(True) == 1


def test_a_call_has_the_text_of_its_callee_and_the_scope_it_sees() -> None:
    facts = facts_of(
        """
        @register(1)
        class Cart(make_base()):
            @price.setter
            def total(self, tax=default()):
                super().total()
                return self.lines.sum() + rows()[0].weigh() + handlers[0]()
        """
    )
    assert [(call.callee, call.scope) for call in facts.calls] == [
        ("register", ""),
        ("make_base", ""),
        ("default", "Cart"),
        ("super().total", "Cart.total"),
        ("super", "Cart.total"),
        ("self.lines.sum", "Cart.total"),
        ("?.weigh", "Cart.total"),
        ("rows", "Cart.total"),
    ]


def test_calls_inside_f_strings_and_comprehensions_count() -> None:
    facts = facts_of("x = [f'{total(line)!r:>{width()}}' for line in lines()]")
    assert {call.callee for call in facts.calls} == {"total", "width", "lines"}


def test_references_are_the_names_that_are_read_not_those_that_are_bound() -> None:
    facts = facts_of(
        """
        def f(cart: Cart, other: "shop.Cart" = DEFAULT) -> int:
            line = cart.lines[index]
            return g(key=value)
        """
    )
    assert {r.name for r in facts.references} == {
        "Cart", "shop.Cart", "DEFAULT", "int", "cart.lines", "index", "g", "value",
    }  # fmt: skip
    assert {r.owner for r in facts.references} == {"f"}


@pytest.mark.parametrize(
    "body",
    [
        "def f(name): ...",
        "def f(*name): ...",
        "def f(*, name: int = 1): ...",
        "def f(**name: int): ...",
        "def f():\n    name = 1",
        "def f():\n    a, [b, *name] = x",
        "def f():\n    for name in x: ...",
        "def f():\n    with x as (a, name): ...",
        "def f():\n    try: ...\n    except E as name: ...",
        "def f():\n    if (name := 1): ...",
        "def f():\n    return [(name := y) for y in x]",
        "def f():\n    match x:\n        case name: ...",
        "def f():\n    match x:\n        case C(k=name): ...",
        "def f():\n    match x:\n        case [1, *name]: ...",
        "def f():\n    match x:\n        case int() as name: ...",
        "def f[name](): ...",
    ],
)
def test_every_way_to_bind_a_local_name_is_known(body: str) -> None:
    assert ("f", "name") in facts_of(body).local_names


@pytest.mark.parametrize(
    "expression",
    [
        "lambda name: name",
        "lambda *name, k=1: name",
        "[name for name in x]",
        "{name for a, (b, *name) in x if name}",
        "{name: 1 for y in x for name in y}",
        "sum(name for name in x)",
    ],
)
def test_what_a_lambda_or_a_comprehension_binds_is_not_known_outside(expression: str) -> None:
    facts = facts_of(f"def f():\n    return {expression}, name\n")
    inside, outside = sorted((r.scope for r in facts.references if r.name == "name"), reverse=True)
    assert outside == "f"
    assert inside.startswith("f.<")
    assert {scope for scope, name in facts.local_names if name == "name"} == {inside}
    assert {r.owner for r in facts.references} == {"f"}


def test_what_a_comprehension_runs_over_first_is_seen_from_outside() -> None:
    facts = facts_of("[f(y) for y in g() for z in h(y)]\n(lambda a=k(): m(a))")
    assert [(call.callee, call.scope) for call in facts.calls] == [
        ("f", "<comprehension1>"),
        ("g", ""),
        ("h", "<comprehension1>"),
        ("k", ""),
        ("m", "<lambda2>"),
    ]


def test_a_nonlocal_name_is_not_local() -> None:
    assert facts_of("def f():\n    nonlocal name\n    name = 1").local_names == frozenset()


def test_a_global_name_is_the_modules_own() -> None:
    assert facts_of("def f():\n    global name\n    name = 1").local_names == {("", "name")}
    assert facts_of("name = 0\ndef f():\n    global name\n    name = 1").local_names == frozenset()


def test_the_strings_of_a_literal_type_are_no_names() -> None:
    assert [r.name for r in facts_of("x: Literal['red'] | List['Cart']").references] == ["Literal", "List", "Cart"]


def test_an_attribute_of_a_type_is_no_alias() -> None:
    assert [r.name for r in facts_of("type(x).__doc__ = 'some words'").references] == ["?.__doc__", "x"]


def test_attributes_that_methods_assign_on_their_object_belong_to_the_class() -> None:
    facts = facts_of(
        """
        class Cart:
            size: int = 0

            def __init__(self, lines):
                self.lines: list[Line] = lines
                self.size, self.tax = 1, rate()
                lines.first = self.lines.last = other.x = 0

            def total(this):
                this.lines = this.cache = {}
                def inner(self):
                    self.no = 1

            @classmethod
            def make(cls):
                cls.made = True

            @staticmethod
            def helper(line):
                line.no = 1

        def function(self):
            self.no = 1
        """
    )
    variables = [(d.qualified_name, d.signature) for d in facts.definitions if d.kind == "variable"]
    assert variables == [
        ("Cart.size", "size: int = 0"),
        ("Cart.lines", "self.lines: list[Line] = lines"),
        ("Cart.tax", "self.size, self.tax = 1, rate()"),
        ("Cart.cache", "this.cache = {}"),
        ("Cart.made", "cls.made = True"),
    ]


def test_an_attribute_that_the_class_defines_is_not_told_again() -> None:
    facts = facts_of(
        """
        class Cart:
            def __init__(self):
                self.total = 0

            @property
            def total(self): ...

            @total.setter
            def total(self, value): ...
        """
    )
    assert [d.kind for d in facts.definitions if d.name == "total"] == ["method", "method"]


def test_an_import_knows_whether_only_type_checkers_run_it() -> None:
    facts = facts_of(
        """
        import typing as t
        if t.TYPE_CHECKING:
            import a
            if x:
                from b import c
        else:
            import d
        if not TYPE_CHECKING:
            import e
        else:
            import f
        if VERSION > 3:
            import g
        elif TYPE_CHECKING:
            import h
        """
    )
    assert {i.bound_name for i in facts.imports if i.for_types_only} == {"a", "c", "f", "h"}


@pytest.mark.parametrize(
    ("source", "exported"),
    [
        ("x = 1", None),
        ("__all__ = []", ()),
        ("__all__ = ['a', \"b\"]", ("a", "b")),
        ("__all__: list[str] = ('a' 'b', u'c')", ("ab", "c")),
        ("__all__ = 'a', 'b'  # both", ("a", "b")),
        ("__all__ = ['a'] + ['b', *['c']] + list(('d',))", ("a", "b", "c", "d")),
        ("__all__ = ['a']\n__all__ += ['b']\n__all__.extend(('c', 'a'))\n__all__.append('d')", ("a", "b", "c", "d")),
        ("__all__ = ['a', 'b']\n__all__.remove('a')", ("b",)),
        ("__all__ = ['a']\n__all__ += price.__all__ + shop.tax . __all__", ("a", "price.__all__", "shop.tax.__all__")),
        ("if x:\n    __all__ = ['a']\nelse:\n    __all__ = ['b']", ("a", "b")),
        ("x = __all__ = ['a']", ("a",)),
        ("__all__ = [name for name in dir()]", None),
        ("__all__ = ['a'] + names()", None),
        ("__all__ = ['a', f'{b}']", None),
        ("def f():\n    __all__ = ['a']", None),
        ("other.__all__ = ['a']", None),
        ("print(__all__)", None),
        ("__all__ =", None),
    ],
)
def test_the_exported_names_are_read_where_they_are_written_outright(
    source: str, exported: tuple[str, ...] | None
) -> None:
    assert facts_of(source).exported == exported


def test_each_place_where_a_name_is_read_is_known_part_by_part() -> None:
    text = "a.total(b)\nx = (a\n  .total) + f().y.z\ncase: 'a.b | None' = a.total\n"
    places = {r.name: r.places for r in facts_of(text).references}
    assert places == {
        "a.total": (0, 0, 0, 2, 1, 5, 2, 3, 3, 21, 3, 23),
        "b": (0, 8),
        "?.y.z": (2, 12, 2, 16, 2, 18),
        "f": (2, 12),
        "a.b": (3, 7, 3, 9),
        "None": (3, 13),
    }


def test_the_place_of_a_name_after_wide_characters_counts_code_points() -> None:
    (one, two) = facts_of("'漢😀', é.à.b, x").references
    assert (one.name, one.places) == ("é.à.b", (0, 6, 0, 8, 0, 10))
    assert (two.name, two.places) == ("x", (0, 13))


@pytest.mark.parametrize(
    ("header", "scope"),
    [("def f[T: Base](a: T) -> T: ...", "f"), ("class f[T: Base](Generic[T]): ...", "f"), ("type f[T: Base] = T", "<")],
)
def test_type_parameters_are_known_where_they_can_be_seen(header: str, scope: str) -> None:
    facts = facts_of(header)
    ((found, _),) = {pair for pair in facts.local_names if pair[1] == "T"}
    assert found.startswith(scope)
    assert {r.scope for r in facts.references if r.name == "T"} == {found}
    assert "Base" in facts.names


def test_an_annotation_in_quotes_is_read_unless_it_is_prose() -> None:
    facts = facts_of("def f(a: 'dict[str, shop.Cart] | None', b: 'what is meant', c: list[\"Line\"]): ...")
    assert {r.name for r in facts.references} == {"dict", "str", "shop.Cart", "None", "list", "Line"}


def test_constants_have_no_name() -> None:
    facts = facts_of("True.real\nNone.__class__()\nNotes.x\n")
    assert {r.name for r in facts.references} == {"?.real", "?.__class__", "Notes.x"}


def test_positions_count_code_points_whatever_their_bytes() -> None:
    text = "é = '漢字😀'; total('😀', b)\n"
    (call,) = facts_of(text).calls
    assert call.span == Span(Position(0, 11), Position(0, 24))
    assert text_in(text, call.span) == "total('😀', b)"


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_lines_end_as_the_editor_says(ending: str) -> None:
    text = ending.join(["x = 1", "s = 'a\f\u2028\x0b\x85b'", "def f():", "    return g()", ""])
    facts = facts_of(text)
    (call,) = facts.calls
    assert facts.problems == ()
    assert call == Call("g", Span(Position(3, 11), Position(3, 14)), "f")


def test_names_for_search_hold_every_identifier_once() -> None:
    facts = facts_of("from shop.price import total\nclass Cart:\n    def add(self): return super().add(total().x)")
    assert facts.names == {"shop", "price", "total", "Cart", "add", "super", "x"}


def test_a_syntax_error_is_a_problem_and_the_rest_is_read() -> None:
    facts = facts_of("def before(): ...\n\ndef broken(:\n    pass\n\ndef after():\n    return before()\n")
    assert {"before", "after"} <= {d.name for d in facts.definitions}
    assert facts.problems
    assert all(problem.span is not None and problem.path == "m.py" for problem in facts.problems)


@pytest.mark.parametrize(
    "text", ["def (a): f()", "class : f()", "import ", "from . import ", "x = a.", "with a as : f()"]
)
def test_a_name_that_is_not_typed_yet_is_no_name(text: str) -> None:
    facts = facts_of(text)
    names = [d.name for d in facts.definitions] + [i.bound_name for i in facts.imports] + [c.name for c in facts.calls]
    assert "" not in names
    assert facts.problems


def test_imports_compare_as_values() -> None:
    span = Span(Position(0, 0), Position(0, 8))
    assert facts_of("import a").imports == (Import("a", None, None, 0, "", span, Span(Position(0, 7), Position(0, 8))),)
