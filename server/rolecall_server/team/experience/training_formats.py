"""The rows of an export, as the libraries read them that train with them.

Source: the dataset formats of TRL (chat: conversational language modelling; preference: conversational preference with
an explicit prompt; trajectories: conversational unpaired preference with rewards beside it; repairs: conversational
prompt and completion). Tools are called as in OpenAI's Chat Completions. Columns that a trainer does not know stay
unread.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class _Row(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class CalledFunction(_Row):
    """A tool with what it was given."""

    name: str
    arguments: str
    """JSON."""


class CalledTool(_Row):
    """A call of a tool."""

    id: str
    type: Literal["function"] = "function"
    function: CalledFunction


class TrainingMessage(_Row):
    """One turn of a conversation."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    tool_calls: tuple[CalledTool, ...] | None = None
    tool_call_id: str | None = None
    name: str | None = None


Turns = tuple[TrainingMessage, ...]


class ChatRow(_Row):
    """A conversation whose last turn is an answer that was verified."""

    id: str
    messages: Turns = Field(min_length=2)


class PreferenceRow(_Row):
    """An answer that was verified beside one that failed, to the same prompt."""

    id: str
    prompt: Turns = Field(min_length=1)
    chosen: Turns = Field(min_length=1, max_length=1)
    rejected: Turns = Field(min_length=1, max_length=1)


class RewardedTests(_Row):
    """Tests by how they ended."""

    passed: int = Field(ge=0)
    failed: int = Field(ge=0)


class Rewarded(_Row):
    """One turn of a trajectory, and what its execution showed."""

    turn: int = Field(ge=0)
    """The place of the model's turn in the completion."""
    public: RewardedTests
    """Tests that the model knew."""
    private: RewardedTests
    """Tests that it did not know."""
    reward: float


class TrajectoryRow(_Row):
    """Attempts in one conversation, with feedback from execution between them."""

    id: str
    prompt: Turns = Field(min_length=1)
    completion: Turns = Field(min_length=1)
    label: bool
    """The last attempt passed all tests, those that it did not know too."""
    rewards: tuple[Rewarded, ...] = Field(min_length=1)
    reward: float
    """The sum over the turns."""


class RepairRow(_Row):
    """Code with a fault, why it was wrong, and a fix that was verified."""

    id: str
    bug: str
    failure: str
    explanation: str
    fix: str
    tests: RewardedTests
    """The tests that ran on the fix."""
    prompt: Turns = Field(min_length=1)
    completion: Turns = Field(min_length=1)


Row = ChatRow | PreferenceRow | TrajectoryRow | RepairRow
