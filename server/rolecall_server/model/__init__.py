"""Talking to a language model, whichever one answers."""

from rolecall_server.model.candidates import ask_several
from rolecall_server.model.choose import Chosen, EditorModel, EditorOffer, choose_model, find_model
from rolecall_server.model.client import (
    NO_WISHES,
    ChatMessage,
    JsonShape,
    ModelClient,
    Parameters,
    Relay,
    Reply,
    ToolCall,
    ToolSpec,
    Wishes,
    estimate_tokens,
)
from rolecall_server.model.recording import Recorder
from rolecall_server.model.replay import ReplayModel
from rolecall_server.model.structured import Answer, ask_for
from rolecall_server.model.tools import Talk, ToolLimits, ToolUse, use_tools

__all__ = [
    "NO_WISHES",
    "Answer",
    "ChatMessage",
    "Chosen",
    "EditorModel",
    "EditorOffer",
    "JsonShape",
    "ModelClient",
    "Parameters",
    "Recorder",
    "Relay",
    "ReplayModel",
    "Reply",
    "Talk",
    "ToolCall",
    "ToolLimits",
    "ToolSpec",
    "ToolUse",
    "Wishes",
    "ask_for",
    "ask_several",
    "choose_model",
    "estimate_tokens",
    "find_model",
    "use_tools",
]
