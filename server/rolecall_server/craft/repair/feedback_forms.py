"""The forms in which a model is told of a failure: the form is chosen by the kind of the failure.

Source: X. Chen, M. Lin, N. Schaerli, D. Zhou, "Teaching Large Language Models to Self-Debug", ICLR 2024.
"""

from __future__ import annotations

import re
from typing import Literal

from rolecall_analysis import Snapshot
from rolecall_server.craft.feedback import fenced
from rolecall_server.craft.repair.values import last_frames_of, last_values_of, values_of
from rolecall_server.model.prompts import prompts_beside
from rolecall_server.sandbox import TestResult, TestTrace

FailureKind = Literal["assertion", "exception", "endless"]

_PROMPTS = prompts_beside(__file__)
_ASSERTION = re.compile(r"(?:AssertionError\b|assert |Failed: )")
_OVERTIME = "The tests did not end within"


def kind_of(failure: TestResult, trace: TestTrace | None = None) -> FailureKind:
    """Return how *failure* failed: by a value that is not the one expected, by an error, or by not ending."""
    if (trace is not None and trace.ended == "time") or failure.message.startswith(_OVERTIME):
        return "endless"
    return "assertion" if _ASSERTION.match(failure.message) else "exception"


def tell_values(failure: TestResult, trace: TestTrace, snapshot: Snapshot) -> str:
    """Return the values of *trace* in the form for the kind of *failure*; empty where there are none to tell."""
    kind = kind_of(failure, trace)
    if kind == "endless":
        head, told = _PROMPTS["loop"], last_values_of(trace, snapshot)
    elif kind == "exception" and (frames := last_frames_of(trace, snapshot)):
        head, told = _PROMPTS["frames"], frames
    else:
        head, told = _PROMPTS["values"], values_of(trace, snapshot)
    return f"{head}\n\n{fenced(told)}" if told else ""


def ask_explanation() -> str:
    """Return the request to explain the suspected function line by line."""
    return _PROMPTS["explanation"]
