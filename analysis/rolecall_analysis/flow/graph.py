"""A graph along which values flow: nodes hold them, links pass them on, watchers react to them.

A *token* is a value's number with, in its lowest two bits, how it came to be here: ``SURE`` by following what the
code does, ``MERGED`` from a mapping of which the key is not known, ``PROMISED`` by a type annotation, ``GUESSED`` by a
name alone.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

SURE = 0
MERGED = 1
PROMISED = 2
GUESSED = 3

MAX_VALUES = 24
"""A node holds no more: a variable that may be this many things is of no use to a reader, and costs the most."""

MAX_TEXTS = 6
"""A node that holds as many values takes no more texts."""

Watcher = Callable[[int], None]


@dataclass(slots=True)
class Graph:
    """The nodes, what they hold, and what is still to be passed on."""

    held: list[set[int]] = field(default_factory=list[set[int]])
    links: list[list[int]] = field(default_factory=list[list[int]])
    watchers: list[list[Watcher]] = field(default_factory=list[list[Watcher]])
    queue: deque[tuple[int, int]] = field(default_factory=deque[tuple[int, int]])
    texts: set[int] = field(default_factory=set[int])
    """The values that are short strings: there are many, and few matter."""
    n_steps: int = 0

    def node(self) -> int:
        """Return a new node."""
        self.held.append(_NOTHING_HELD)
        self.links.append(_NO_LINKS)
        self.watchers.append(_NO_WATCHERS)
        return len(self.held) - 1

    def nodes(self, n_nodes: int) -> int:
        """Return the first of *n_nodes* new nodes in a row."""
        first = len(self.held)
        self.held.extend([_NOTHING_HELD] * n_nodes)
        self.links.extend([_NO_LINKS] * n_nodes)
        self.watchers.extend([_NO_WATCHERS] * n_nodes)
        return first

    def add(self, node: int, token: int) -> None:
        """Let *node* hold *token*."""
        held = self.held[node]
        if token in held:
            return
        reason = token & 3
        # What is held for a surer reason says all that this token says.
        if reason and any(token - by in held for by in range(1, reason + 1)):
            return
        if not held:
            self.held[node] = {token}
        elif len(held) >= MAX_TEXTS and (len(held) >= MAX_VALUES or token >> 2 in self.texts):
            return
        else:
            held.add(token)
        self.queue.append((node, token))

    def link(self, source: int, target: int) -> None:
        """Let everything that *source* holds reach *target*."""
        if source == target:
            return
        if self.links[source]:
            self.links[source].append(target)
        else:
            self.links[source] = [target]
        if self.held[source]:
            for token in tuple(self.held[source]):
                self.add(target, token)

    def link_because(self, source: int, target: int, reason: int) -> None:
        """Link, but no surer than *reason*."""
        if reason == SURE:
            self.link(source, target)
        else:
            # A link passes tokens on as they are; only a watcher can weaken them.
            self.watch(source, lambda token: self.add(target, weakened(token, reason)))

    def watch(self, node: int, watcher: Watcher) -> None:
        """Call *watcher* with every token that *node* holds, now and later."""
        if self.watchers[node]:
            self.watchers[node].append(watcher)
        else:
            self.watchers[node] = [watcher]
        if self.held[node]:
            # Copied, since the watcher may let this very node hold more.
            for token in tuple(self.held[node]):
                watcher(token)

    def settle(self, max_steps: int) -> bool:
        """Pass everything on; return False if that would take more than *max_steps* in all."""
        queue, held, links, watchers, add = self.queue, self.held, self.links, self.watchers, self.add
        while queue:
            node, token = queue.popleft()
            self.n_steps += 1
            if self.n_steps > max_steps:
                queue.clear()
                return False
            for target in links[node]:
                if token not in held[target]:
                    add(target, token)
            if watchers[node]:
                for watcher in tuple(watchers[node]):
                    watcher(token)
        return True


def weakened(token: int, reason: int) -> int:
    """Return *token*, no surer than *reason*."""
    return token if token & 3 >= reason else (token & ~3) | reason


# Shared by all nodes that have nothing of their own: replaced by the first thing that is added, and never changed.
_NOTHING_HELD: set[int] = set()
_NO_LINKS: list[int] = []
_NO_WATCHERS: list[Watcher] = []
