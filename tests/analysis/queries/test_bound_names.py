"""Names that are bound in ways a search by scope alone would miss."""

from __future__ import annotations

from rolecall_analysis import callers, unresolved_names
from support.graph import definition_of, snapshot_from


def test_a_star_import_takes_what_all_names_and_nothing_else() -> None:
    snapshot = snapshot_from("""
        #- names.py
        __all__ = ["_shown"]
        def _shown(): ...
        def hidden(): ...
        #- main.py
        from names import *
        _shown()
        hidden()
        """)
    assert [s.certain for s in callers(snapshot, definition_of(snapshot, "names.py:_shown"))] == [True]
    assert callers(snapshot, definition_of(snapshot, "names.py:hidden")) == ()


def test_the_parameters_of_a_type_alias_are_bound() -> None:
    snapshot = snapshot_from("""
        #- main.py
        type Pair[K] = tuple[K, K]
        """)
    assert unresolved_names(snapshot, "main.py") == ()


def test_an_attribute_that_is_assigned_on_self_is_found() -> None:
    snapshot = snapshot_from("""
        #- m.py
        class Line:
            def total(self): ...
        class Cart:
            def __init__(self): self.line = Line()
            def show(self): return self.line.total()
        """)
    found = callers(snapshot, definition_of(snapshot, "m.py:Line.total"))
    assert [(s.certain, s.rule) for s in found] == [(True, "value flow")]


def test_a_global_statement_binds_the_name_in_the_module() -> None:
    snapshot = snapshot_from("""
        #- main.py
        def load():
            global np
            import numpy as np
        def show(): return np.array
        """)
    assert unresolved_names(snapshot, "main.py") == ()
