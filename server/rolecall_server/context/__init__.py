"""The context that a model may see: items taken from the code graph, each with its reason, packed into a budget of
tokens.
"""

from rolecall_server.context.at_hand import AtHand, EditorDiagnostic
from rolecall_server.context.found import corpus_of
from rolecall_server.context.items import ContextItem, LeftOut, PackSource
from rolecall_server.context.named import named_files
from rolecall_server.context.pack import ContextPack, Focus, Parts, names_one_thing, pack, pack_rules, render

__all__ = [
    "AtHand",
    "ContextItem",
    "ContextPack",
    "EditorDiagnostic",
    "Focus",
    "LeftOut",
    "PackSource",
    "Parts",
    "corpus_of",
    "named_files",
    "names_one_thing",
    "pack",
    "pack_rules",
    "render",
]
