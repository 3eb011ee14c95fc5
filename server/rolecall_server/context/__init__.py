"""What a model may see: items taken from the code graph, each with its reason, packed into a budget of tokens."""

from rolecall_server.context.at_hand import AtHand, Complaint
from rolecall_server.context.items import ContextItem, LeftOut, View
from rolecall_server.context.named import named_files
from rolecall_server.context.pack import ContextPack, Focus, pack, pack_rules, render

__all__ = [
    "AtHand",
    "Complaint",
    "ContextItem",
    "ContextPack",
    "Focus",
    "LeftOut",
    "View",
    "named_files",
    "pack",
    "pack_rules",
    "render",
]
