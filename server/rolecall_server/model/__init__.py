"""Talking to a language model, whichever one answers."""

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
from rolecall_server.model.recordings.recording import Recorder
from rolecall_server.model.recordings.replay import ReplayModel
from rolecall_server.model.replies.structured import Answer, ask_for
from rolecall_server.model.replies.tools import Talk, ToolLimits, ToolUse, use_tools
from rolecall_server.model.selection.choose import Chosen, EditorModel, EditorOffer, find_model, named_model

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
    "estimate_tokens",
    "find_model",
    "named_model",
    "use_tools",
]
