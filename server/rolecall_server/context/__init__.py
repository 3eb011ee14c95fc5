"""What a model may see: items taken from the code graph, each with its reason, packed into a budget of tokens."""

from rolecall_server.context.pack import ContextItem, ContextPack, Focus, View, pack, render

__all__ = ["ContextItem", "ContextPack", "Focus", "View", "pack", "render"]
