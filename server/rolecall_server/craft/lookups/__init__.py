"""Lookups that a model may make while it works: answered from the code graph, the files and the sandbox."""

from rolecall_server.craft.lookups.sources import LookupSources
from rolecall_server.craft.lookups.tools import TOOL_NAMES, LookingUp, tell_lookups, tools_for

__all__ = ["TOOL_NAMES", "LookingUp", "LookupSources", "tell_lookups", "tools_for"]
