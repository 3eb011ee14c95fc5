"""Python: from a syntax tree to the facts of a file, in one walk without recursion."""

from rolecall_analysis.python.memory import FunctionCache
from rolecall_analysis.python.walk import read_facts, read_packed

__all__ = ["FunctionCache", "read_facts", "read_packed"]
