"""Any text has a call graph, in bounded time, and no text makes it fail."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rolecall_analysis import Position, Snapshot
from rolecall_analysis.flow import call_graph, callees_at, callers_of

FRAGMENTS = [
    "def f(a, *b, c=f, **d):\n    return a(*b, **d)\n",
    "def g():\n    yield f\n    yield from g()\n",
    "class C(B, metaclass=M):\n    x: C = f\n    def m(self):\n        self.m = self.x\n        super().m(self)\n",
    "class B(C):\n    @property\n    def x(self): return self.x\n    @x.setter\n    def x(self, v): self.x = v\n",
    "class M(type):\n    def __call__(cls, *a): return super().__call__(*a)\n",
    "from m import *\nfrom . import m\nimport m as a\n",
    "@f\n@C\ndef h(): h = h()()\n",
    "a = [f(i) for i in a if (b := i)]\n",
    "a, (b, *c) = b, (c, a)\n",
    "a[0], a.b, a['k'] = a['k'], a[0], a.b\n",
    "a = {'k': a, **a, b: C()}\n",
    "for a in C(): a()\nelse: f(a)\n",
    "with C() as a, f() as (b, c): a(b)\n",
    "try: raise C\nexcept (B, C) as a: a.m()\n",
    "f = partial(f, f)\nfrom functools import partial\n",
    "f = lambda a=f: a(lambda: f)\n",
    "match a:\n    case C(x=b, y=[*c]) as d: d()\n",
    "global a\n",
    "type X = C\n",
    "a += a @ b\n",
    "eval('f(')\ndef k(a: 'C[', b: 'C | '): ...\n",
    "import importlib\na = importlib.import_module('m')\na.a = a\n",
    *[
        "async ",
        "def ",
        "class ",
        "return ",
        "lambda: ",
        "await ",
        "    ",
        "\n",
        "\r",
        "(",
        ")",
        "[",
        ":",
        "é",
        "=",
        "@",
    ],
]

texts = st.lists(st.sampled_from(FRAGMENTS), max_size=12).map("".join)


@settings(max_examples=80, deadline=None)
@given(texts, texts)
def test_any_two_modules_have_a_call_graph(first: str, second: str) -> None:
    files = {"m.py": first, "n.py": second}
    snapshot = Snapshot().with_changes(files)
    edges = call_graph(snapshot, files.get)
    assert len(edges) == len(set(edges))
    for edge in edges:
        assert edge.span.start <= edge.span.end
        assert {edge.caller_path, edge.callee_path} <= files.keys()


@settings(max_examples=200, deadline=None)
@given(texts, st.integers(0, 30), st.integers(0, 30))
def test_any_place_can_be_asked_about(text: str, line: int, column: int) -> None:
    files = {"m.py": text, "n.py": "from m import *\nf(C())\n"}
    snapshot = Snapshot().with_changes(files)
    callees_at(snapshot, files.get, "m.py", Position(line, column))
    for definition in snapshot.files["m.py"].definitions:
        callers_of(snapshot, files.get, "m.py", definition.qualified_name)


@settings(max_examples=80, deadline=None)
@given(texts, texts, st.sampled_from(["m.pyi", "m/__init__.py", "m/__init__.pyi"]))
def test_any_two_files_of_one_module_name_can_be_asked_about(first: str, second: str, beside: str) -> None:
    files = {"m.py": first, beside: second, "n.py": "from m import *\nf(C())\n"}
    snapshot = Snapshot().with_changes(files)
    call_graph(snapshot, files.get)
    for path in ("m.py", beside):
        for definition in snapshot.files[path].definitions:
            callers_of(snapshot, files.get, path, definition.qualified_name)
            callees_at(snapshot, files.get, path, definition.span.end)


@pytest.mark.parametrize(
    "text",
    {
        "brackets 5,000 deep": "x = " + "[" * 5000 + "]" * 5000,
        "calls 5,000 deep": "def f(a): ...\n" + "f(" * 5000 + ")" * 5000,
        "attributes 20,000 long": "a" + ".b" * 20_000 + "()",
        "calls on calls 10,000 long": "class C:\n    def b(self): return self\nC()" + ".b()" * 10_000,
        "sums 10,000 long": "+".join(["a"] * 10_000),
        "functions 400 deep": "".join(f"{' ' * i}def f{i}():\n" for i in range(400)) + " " * 400 + "f0()",
        "lambdas 5,000 deep": "lambda a: " * 5000 + "a",
        "subclasses 1,000 deep": "class C0: ...\n"
        + "".join(f"class C{i + 1}(C{i}):\n    def f(self): super().f()\n" for i in range(1000)),
        "aliases 5,000 long": "def f(): ...\nf0 = f\n"
        + "".join(f"f{i + 1} = f{i}\n" for i in range(5000))
        + "f5000()\n",
        "everything passed everywhere": "".join(f"def f{i}(a, b): a(b, f{i})\n" for i in range(150))
        + "".join(f"f{i}(f{i * 7 % 150}, f{i * 11 % 150})\n" for i in range(150)),
        "a partial of itself": "from functools import partial\np = print\np = partial(p, p)\np(p)()",
        "classes that are each other's base": "class A(B): ...\nclass B(A): ...\nA().f()",
        "a wide dictionary": "d = {" + "".join(f"'{i}': f{i}, " for i in range(20_000)) + "}\nd[x]()",
        "larger than the limit": "f()\n" * 600_000,
    }.values(),
)
def test_extreme_code_has_a_call_graph(text: str) -> None:
    files = {"m.py": text}
    snapshot = Snapshot().with_changes(files)
    call_graph(snapshot, files.get)
    callees_at(snapshot, files.get, "m.py", Position(1, 0))
