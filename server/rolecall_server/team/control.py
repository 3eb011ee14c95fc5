"""How the developer steers a run of the team; light to import, because every session holds such values."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field


@dataclass
class Control:
    """How the developer steers a run while it goes on."""

    is_paused: bool = False
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def pause(self) -> None:
        """Begin nothing more; what is being done is finished."""
        self.is_paused = True
        self.changed.set()

    def look_again(self) -> None:
        """Heed what was published from outside."""
        self.changed.set()
