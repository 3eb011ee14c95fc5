"""The prices of tokens, in whole billionths, so that sums over any number of calls are exact."""

from __future__ import annotations

from dataclasses import dataclass

from rolecall_server.settings import ModelSettings
from rolecall_server.store.usage import NANOS

_NANOS_PER_PRICE = NANOS // 1_000_000
"""A price is that of a million tokens."""


@dataclass(frozen=True)
class Prices:
    """The price of a token, in billionths of the developer's currency; 0: not known, or free."""

    prompt_nanos: int = 0
    completion_nanos: int = 0

    def cost(self, prompt_tokens: int, completion_tokens: int) -> int:
        """Return the cost of a call of so many tokens, in billionths; the most, as cached prompts may be cheaper."""
        return prompt_tokens * self.prompt_nanos + completion_tokens * self.completion_nanos


def prices_of(settings: ModelSettings) -> Prices:
    """Return the prices that *settings* name, to a thousandth."""
    prompt, completion = settings.prompt_price, settings.completion_price
    return Prices(round(prompt * _NANOS_PER_PRICE), round(completion * _NANOS_PER_PRICE))


def show_money(nanos: int) -> str:
    """Money as a person reads it, to the cent where that says enough: ``1.20``, ``0.0034``."""
    units = nanos / NANOS
    return f"{units:,.2f}" if units >= 1 or not nanos else f"{units:.2g}" if units < 0.001 else f"{units:.4f}"
