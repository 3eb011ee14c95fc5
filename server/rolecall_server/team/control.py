"""The developer's control of a run; light to import, because every session holds such values."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field


@dataclass
class Control:
    """The developer's control of a run while it goes on."""

    is_paused: bool = False
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def pause(self) -> None:
        """Begin nothing more: no step, and in a run of one step no further call of a model."""
        self.is_paused = True
        self.changed.set()

    def look_again(self) -> None:
        """Heed what was published from outside."""
        self.changed.set()
