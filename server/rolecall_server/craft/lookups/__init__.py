"""What a model may look up for itself while it works: answered from the code graph, the files and the sandbox."""

from rolecall_server.craft.lookups.client import LookingUp
from rolecall_server.craft.lookups.sources import Sources
from rolecall_server.craft.lookups.tools import TOOL_NAMES, tools_for

__all__ = ["TOOL_NAMES", "LookingUp", "Sources", "tools_for"]
