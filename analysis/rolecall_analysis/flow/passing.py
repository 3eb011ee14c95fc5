"""What each caller passes by itself: a function whose callers pass different things is called for each with its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from rolecall_analysis.flow.state import Flow
from rolecall_analysis.flow.values import FunctionValue

MAX_SOURCES = 2_000
"""So many places are looked at for one parameter; what more of them pass counts together."""


@dataclass(frozen=True, slots=True)
class Passed:
    """Where the values of parameters come from."""

    sources: Mapping[int, list[int]]
    """The nodes outside of its own frame that are linked to the node of each parameter, defaults excepted."""

    def origins(self, node: int) -> Iterator[int]:
        """The nodes of what callers pass to the parameter at *node*, through parameters of their own."""
        waiting, seen = list(self.sources.get(node, ())), {node}
        while waiting and len(seen) < MAX_SOURCES:
            source = waiting.pop()
            if source in seen:
                continue
            seen.add(source)
            if source in self.sources:
                waiting.extend(self.sources[source])
            else:
                yield source


def passed_to(flow: Flow) -> Passed:
    """What is passed to the parameters of all frames, but for ``self`` and ``cls``."""
    parameters = dict(_parameter_nodes(flow))
    defaults = {node for value in flow.values if isinstance(value, FunctionValue) for _, node in value.defaults}
    sources: dict[int, list[int]] = {}
    for source, targets in enumerate(flow.graph.links):
        if targets and source not in defaults:
            for target in targets:
                if target in parameters and source not in parameters[target]:
                    sources.setdefault(target, []).append(source)
    return Passed(sources)


def _parameter_nodes(flow: Flow) -> Iterator[tuple[int, range]]:
    """The node of each parameter, and the nodes of its frame: what these pass on to it is assigned, not passed."""
    for frame in flow.frames:
        own = range(frame.first_node, frame.first_node + frame.scope.n_variables)
        is_method = frame.scope.parent is not None and frame.scope.parent.kind == "class" and not frame.scope.is_static
        for parameter in frame.scope.parameters[is_method:]:
            yield frame.first_node + parameter.variable, own
