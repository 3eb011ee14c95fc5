"""A rest for an endpoint that fails again and again: who asks meanwhile is told at once."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from rolecall_server.errors import ConnectionFailed, ProviderUnavailable, RolecallError
from rolecall_server.model.client import NO_WISHES, ChatMessage, ModelClient, Relay, Reply, Wishes
from rolecall_server.model.endpoint import Endpoint


@dataclass
class Breaker:
    """The known health of one endpoint.

    After *n_failures* in a row, none older than *window_s*, it rests for *pause_s*; then one call may try whether it
    is well again, while others go on being told.

    Source: the circuit breaker of Nygard, Release It!, chapter 5.
    """

    n_failures: int = 3
    window_s: float = 120.0
    pause_s: float = 20.0
    now: Callable[[], float] = time.monotonic
    _failures: list[float] = field(default_factory=list[float])
    _rests_until: float = 0.0
    _said: str = ""

    def check(self, label: str) -> None:
        """Let a call pass.

        Raises:
            ProviderUnavailable: the endpoint rests.
        """
        left_s = self._rests_until - self.now()
        if left_s > 0:
            until = datetime.fromtimestamp(time.time() + left_s).astimezone()
            raise ProviderUnavailable(
                f"{label} has failed {len(self._failures)} times in a row and is not asked before {until:%H:%M:%S}; "
                f"the last time: {self._said}",
                "Run the command again after that, or choose another model.",
            )
        if len(self._failures) >= self.n_failures:
            self._rests_until = self.now() + self.pause_s  # until the call that passes now has ended

    def note(self, error: RolecallError | None) -> None:
        """Remember how a call ended; None: well."""
        if not isinstance(error, ProviderUnavailable):
            self._failures, self._rests_until = [], 0.0
            return
        now = self.now()
        self._failures = [at for at in self._failures if now - at <= self.window_s] + [now]
        self._said = error.what
        if len(self._failures) >= self.n_failures:
            self._rests_until = now + self.pause_s

    def forget_trial(self) -> None:
        """The call that was let through ended without a verdict: the next one may try."""
        self._rests_until = 0.0


@dataclass(frozen=True)
class CircuitBreaker(Relay):
    """A client whose endpoint is given a rest when it fails again and again."""

    client: ModelClient
    endpoint: Endpoint
    breaker: Breaker

    async def complete(self, messages: Sequence[ChatMessage], wishes: Wishes = NO_WISHES) -> Reply:
        """Return the client's answer, unless the endpoint rests after repeated failures.

        Raises:
            ProviderUnavailable: the endpoint rests; nothing was asked.
        """
        self.breaker.check(self.label)
        try:
            reply = await self.client.complete(messages, wishes)
        except RolecallError as error:
            if isinstance(error, ConnectionFailed) and self.endpoint.is_local:
                self.breaker.forget_trial()  # a local server that is not there is soon asked, and may be starting
            else:
                self.breaker.note(error)
            raise
        except BaseException:
            self.breaker.forget_trial()
            raise
        self.breaker.note(None)
        return reply
