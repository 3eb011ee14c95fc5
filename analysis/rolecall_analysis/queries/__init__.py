"""The questions to the graph: functions over snapshots.

Each edge in an answer says whether it is certain, and the rule that made it.
"""

from rolecall_analysis.queries.arguments.signatures import Mismatch, signature_mismatches
from rolecall_analysis.queries.callers import Callee, CallSite, callees, callers
from rolecall_analysis.queries.collection import (
    is_conftest,
    is_test,
    is_test_function,
    is_test_path,
    name_for_tests,
)
from rolecall_analysis.queries.definitions import definitions_in, enclosing_definition, find_definition
from rolecall_analysis.queries.hierarchy import (
    all_subtypes,
    overridden,
    overrides,
    subtypes,
    supertypes,
)
from rolecall_analysis.queries.impact import Dependent, Impact, ImpactStep, impact
from rolecall_analysis.queries.importers import import_graph, importers
from rolecall_analysis.queries.references import Destination, Occurrence, definitions_at, references
from rolecall_analysis.queries.removed import (
    BrokenReference,
    dangling_uses,
    possibly_dangling_uses,
    removed_definitions,
)
from rolecall_analysis.queries.symbols import OutlineSymbol, find_symbols, outline, symbol_tree
from rolecall_analysis.queries.tests import SelectedTests, select_tests, tests_of
from rolecall_analysis.queries.unresolved import Unresolved, missing_attributes, unresolved_names
from rolecall_analysis.queries.uses import uses

__all__ = [
    "BrokenReference",
    "CallSite",
    "Callee",
    "Dependent",
    "Destination",
    "Impact",
    "ImpactStep",
    "Mismatch",
    "Occurrence",
    "OutlineSymbol",
    "SelectedTests",
    "Unresolved",
    "all_subtypes",
    "callees",
    "callers",
    "dangling_uses",
    "definitions_at",
    "definitions_in",
    "enclosing_definition",
    "find_definition",
    "find_symbols",
    "impact",
    "import_graph",
    "importers",
    "is_conftest",
    "is_test",
    "is_test_function",
    "is_test_path",
    "missing_attributes",
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
    "unresolved_names",
    "uses",
]
