"""The places in the source that call something."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from rolecall_analysis.flow.code import NO_ARGUMENTS, Arguments, CallKind, Receiver
from rolecall_analysis.flow.values import Frame


@dataclass(frozen=True, slots=True)
class Spot:
    """A stretch of the source, in the frame that runs it."""

    frame: Frame
    start: int
    end: int
    owner: int = -1
    """The node of what is used there: iterated over, entered."""


@dataclass(slots=True, eq=False)
class Site:
    """One call in one frame, its arguments and its result as nodes."""

    frame: Frame
    kind: CallKind
    name: str
    receiver: Receiver
    receiver_node: int
    """-1 for a bare name."""
    start: int
    end: int
    result: int
    callee: int = -1
    arguments: Arguments = NO_ARGUMENTS
    done: dict[int, int] = field(default_factory=dict[int, int])
    """The certainty of each value for which this call has been worked out."""
    decided_by: tuple[int, ...] = ()
    """The nodes whose values decide what is called."""
    n_derived: int = 0
    """The number of calls that it stands for: of a partial of a partial, say."""

    @property
    def positional(self) -> tuple[int, ...]:
        """The nodes of its positional arguments."""
        return self.arguments.positional

    @property
    def spot(self) -> Spot:
        """Return the place where it stands."""
        return Spot(self.frame, self.start, self.end)


def implied(spot: Spot, kind: CallKind, name: str, result: int, arguments: Arguments = NO_ARGUMENTS) -> Site:
    """Return a call that the code implies without writing it: of a getter, of ``__iter__``, of ``__enter__``."""
    decided_by = (spot.owner,) if spot.owner >= 0 else ()
    return Site(
        spot.frame, kind, name, "value", -1, spot.start, spot.end, result, arguments=arguments, decided_by=decided_by
    )


def within(
    site: Site,
    *,
    result: int | None = None,
    arguments: Arguments | None = None,
    kind: CallKind | None = None,
    decided_by: int = -1,
) -> Site:
    """Return a site at the same place for another call, with the same arguments where no others are given.

    What is called depends on the node *decided_by* as well, if there is one.
    """
    return replace(
        site,
        # One of its own: `replace` would share that of the other call.
        done={},
        n_derived=site.n_derived + 1,
        decided_by=(*site.decided_by, decided_by) if decided_by >= 0 else site.decided_by,
        kind=kind or site.kind,
        result=site.result if result is None else result,
        arguments=site.arguments if arguments is None else arguments,
    )
