"""The messages between a request to a model and its answer, unseen by who asked: lookups, questions to others."""

from __future__ import annotations

from dataclasses import dataclass, field

from rolecall_server.model.client import ChatMessage

Messages = tuple[ChatMessage, ...]


@dataclass
class Interludes:
    """Keeps interludes at their places: the next call begins with all that the last one sent.

    So the model knows what it was told, and a provider need not read it again.
    """

    _whole: dict[Messages, Messages] = field(default_factory=dict[Messages, Messages])
    """Conversations with their interludes, by what they are to those who ask."""

    def keep(self, asked: Messages, whole: Messages) -> None:
        """Remember that *asked*, which ends in the model's answer, was *whole* to the model."""
        self._whole[asked] = whole

    def restore(self, asked: Messages) -> Messages:
        """Return *asked* with the earlier interludes put back in."""
        # The longest beginning that is known first: it holds the interludes of all shorter ones.
        for n_known in range(len(asked), 0, -1):
            if (whole := self._whole.get(asked[:n_known])) is not None:
                return (*whole, *asked[n_known:])
        return asked
