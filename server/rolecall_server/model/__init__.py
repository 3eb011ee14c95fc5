"""Talking to a language model, whichever one answers."""

from rolecall_server.model.choose import choose_model
from rolecall_server.model.client import ChatMessage, ModelClient, Reply, estimate_tokens
from rolecall_server.model.recording import Recorder
from rolecall_server.model.replay import ReplayModel

__all__ = ["ChatMessage", "ModelClient", "Recorder", "ReplayModel", "Reply", "choose_model", "estimate_tokens"]
