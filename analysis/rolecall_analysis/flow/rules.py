"""The reasons why a call is thought to run a function."""

from __future__ import annotations

from typing import Literal

FlowRule = Literal[
    "name in scope",
    "import",
    "attribute of self",
    "inherited",
    "super",
    "value flow",
    "type annotation",
    "same name",
    "property",
    "decorator",
    "with statement",
    "iteration",
    "operator",
    "raise",
    "passed function",
    "container",
    "override",
]
