"""No code makes a question fail, and answers agree with each other."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rolecall_analysis import (
    Snapshot,
    all_subtypes,
    callees,
    callers,
    dangling_uses,
    definitions_at,
    find_symbols,
    impact,
    import_graph,
    importers,
    outline,
    overridden,
    overrides,
    references,
    signature_mismatches,
    unresolved_names,
    uses,
)
from rolecall_analysis import tests_of as find_tests
from rolecall_analysis.resolution.names import bases_of

CODE = """\
from b import *
from a import f, C as D
from . import a, b
import a, b as c
class C(D, C, metaclass=M):
class D(C): ...
    def f(self, x, *y, z=1, **w): return self.f(super().f(D.f(C(x))))
    @property
    def p(self): return self.p.q
def f(a, /, b, *, c): f(1, b=2); f(*a, **b)
g = f = C
C = D.f
x: D | None = C()
x.f().f(x.p)
with raises(f()): f(1)
try: f()
except (TypeError, f.g) as f: del f
    __init__ = f
@dataclass
class E: x: int = field(default=1)
lambda f: [f for f in f if (y := f)]
__all__ = ["f", *g.__all__]
if x: import f.g
global C
(
"""
FILES = st.lists(st.one_of(st.sampled_from(CODE.splitlines()), st.text(max_size=8)), max_size=12).map("\n".join)


@given(FILES, FILES, FILES)
def test_any_code_can_be_asked_about(a: str, b: str, changed: str) -> None:
    snapshot = Snapshot().with_changes({"a.py": a, "b.py": b, "p/__init__.py": b, "test_a.py": a})
    after = snapshot.with_changes({"a.py": changed, "b.py": None})
    dangling_uses(snapshot, after, ["a.py", "b.py"])
    import_graph(snapshot)
    find_symbols(snapshot, changed)
    for path, facts in snapshot.files.items():
        text = a if path in ("a.py", "test_a.py") else b
        assert set(importers(snapshot, path)) <= set(snapshot.files)
        assert path not in find_tests(snapshot, path)
        assert all(one.path == path for one in unresolved_names(snapshot, path))
        signature_mismatches(snapshot, path, text)
        outline(snapshot, path)
        uses(snapshot, path)
        for definition in facts.definitions:
            found = references(snapshot, definition)
            assert len({(o.path, o.span) for o in found}) == len(found)
            for occurrence in found:
                there = definitions_at(snapshot, occurrence.path, occurrence.span.start)
                assert there or occurrence.kind == "read"
            assert all(site.certain for site in callers(snapshot, definition, certain_only=True))
            callees(snapshot, definition)
            assert definition not in bases_of(snapshot, definition)
            assert definition not in all_subtypes(snapshot, definition)
            overridden(snapshot, definition)
            overrides(snapshot, definition)
            assert len(impact(snapshot, [definition], limit=5).dependents) <= 5
