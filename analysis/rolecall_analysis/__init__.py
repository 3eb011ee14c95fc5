"""The code graph: source text in, plain values out.

`Index` follows a folder and the editor; `Index.snapshot` is an immutable `Snapshot`; the queries are functions
over snapshots. Nothing here knows an editor's protocol, a model or the network.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from rolecall_analysis.extraction import facts_of
from rolecall_analysis.indexing.index import Index
from rolecall_analysis.indexing.workers import Workers, WorkersClosed
from rolecall_analysis.modules import ModuleTree, module_names
from rolecall_analysis.snapshot import Snapshot, is_python
from rolecall_analysis.text import Edit, text_in
from rolecall_analysis.values import (
    Call,
    Definition,
    DefinitionKind,
    FileFacts,
    Import,
    Position,
    Problem,
    Reference,
    Span,
)

if TYPE_CHECKING:
    from rolecall_analysis.queries import (
        BrokenReference,
        Callee,
        CallSite,
        Dependent,
        Destination,
        Impact,
        ImpactStep,
        Mismatch,
        Occurrence,
        OutlineSymbol,
        SelectedTests,
        Unresolved,
        all_subtypes,
        callees,
        callers,
        dangling_uses,
        definitions_at,
        definitions_in,
        enclosing_definition,
        find_definition,
        find_symbols,
        impact,
        import_graph,
        importers,
        is_conftest,
        is_test,
        is_test_function,
        is_test_path,
        missing_attributes,
        name_for_tests,
        outline,
        overridden,
        overrides,
        possibly_dangling_uses,
        references,
        removed_definitions,
        select_tests,
        signature_mismatches,
        subtypes,
        supertypes,
        symbol_tree,
        tests_of,
        unresolved_names,
        uses,
    )

__all__ = [
    "BrokenReference",
    "Call",
    "CallSite",
    "Callee",
    "Definition",
    "DefinitionKind",
    "Dependent",
    "Destination",
    "Edit",
    "FileFacts",
    "Impact",
    "ImpactStep",
    "Import",
    "Index",
    "Mismatch",
    "ModuleTree",
    "Occurrence",
    "OutlineSymbol",
    "Position",
    "Problem",
    "Reference",
    "SelectedTests",
    "Snapshot",
    "Span",
    "Unresolved",
    "Workers",
    "WorkersClosed",
    "all_subtypes",
    "callees",
    "callers",
    "dangling_uses",
    "definitions_at",
    "definitions_in",
    "enclosing_definition",
    "facts_of",
    "find_definition",
    "find_symbols",
    "impact",
    "import_graph",
    "importers",
    "is_conftest",
    "is_python",
    "is_test",
    "is_test_function",
    "is_test_path",
    "missing_attributes",
    "module_names",
    "name_for_tests",
    "outline",
    "overridden",
    "overrides",
    "possibly_dangling_uses",
    "references",
    "removed_definitions",
    "select_tests",
    "signature_mismatches",
    "subtypes",
    "supertypes",
    "symbol_tree",
    "tests_of",
    "text_in",
    "unresolved_names",
    "uses",
]


def __getattr__(name: str) -> object:
    """Return a query. They are imported when the first is named: an editor waits for the index alone."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("rolecall_analysis.queries"), name)
