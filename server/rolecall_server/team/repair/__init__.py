"""Repair: a failure is made to happen in the sandbox, located, and mended by the Engineer rung by rung."""

from rolecall_server.team.repair.mending import mend
from rolecall_server.team.repair.reproducing import Reproduction, reproduce, trace_first

__all__ = ["Reproduction", "mend", "reproduce", "trace_first"]
