"""Lookups that a model may make while it works: answered from the code graph, the files and the sandbox."""

from rolecall_server.craft.lookups.sources import LookupSources
from rolecall_server.craft.lookups.tools import LOOK_UP, TOOL_NAMES, LookingUp, tools_for

__all__ = ["LOOK_UP", "TOOL_NAMES", "LookingUp", "LookupSources", "tools_for"]
