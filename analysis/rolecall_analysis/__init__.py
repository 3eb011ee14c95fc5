"""The code graph: source text in, plain values out.

`Index` follows a folder and the editor; `Index.snapshot` is an immutable `Snapshot`; the queries are functions
over snapshots. Nothing here knows an editor's protocol, a model or the network.
"""

from rolecall_analysis.index import Index
from rolecall_analysis.modules import ModuleTree, module_names
from rolecall_analysis.queries import (
    CallSite,
    callers,
    definitions_in,
    enclosing_definition,
    find_definition,
    importers,
    is_test_path,
    tests_of,
    uses,
)
from rolecall_analysis.snapshot import Snapshot, facts_of, is_python
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

__all__ = [
    "Call",
    "CallSite",
    "Definition",
    "DefinitionKind",
    "Edit",
    "FileFacts",
    "Import",
    "Index",
    "ModuleTree",
    "Position",
    "Problem",
    "Reference",
    "Snapshot",
    "Span",
    "callers",
    "definitions_in",
    "enclosing_definition",
    "facts_of",
    "find_definition",
    "importers",
    "is_python",
    "is_test_path",
    "module_names",
    "tests_of",
    "text_in",
    "uses",
]
