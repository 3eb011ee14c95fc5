"""The rules of a code review: each is a file that says which query finds candidates, and what is asked about one.

What a model finds by reading has a file too, beside the folder of the rules: no query finds it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from pydantic import BaseModel, ConfigDict, Field, field_validator

from rolecall_analysis.faults import QUERIES

_HERE = files("rolecall_server.craft.code_review")
_FOLDER = _HERE / "rules"


class RuleExample(BaseModel):
    """A small module that has a candidate of a rule, or has none."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    code: str


class FaultKind(BaseModel):
    """One kind of fault, however it is found."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    title: str
    question: str = Field(description="asked of a model about a candidate")
    post_condition: str = Field(description="holds wherever the code is safe")


class ReviewRule(FaultKind):
    """One kind of fault that a query finds."""

    query: str = Field(description="the query of the code graph that finds candidates")
    candidate: tuple[RuleExample, ...] = Field(description="code that the query must find", min_length=1)
    clean: tuple[RuleExample, ...] = Field(description="code in which it must find nothing", min_length=1)

    @field_validator("query")
    @classmethod
    def _is_known(cls, query: str) -> str:
        if query not in QUERIES:
            raise ValueError(f"there is no query {query!r}; there are {', '.join(QUERIES)}")
        return query


@cache
def review_rules() -> Mapping[str, ReviewRule]:
    """Return the rules there are, by name."""
    found = sorted((file for file in _FOLDER.iterdir() if file.name.endswith(".toml")), key=lambda file: file.name)
    rules = {file.name.removesuffix(".toml"): tomllib.loads(file.read_text(encoding="utf-8")) for file in found}
    return {name: ReviewRule.model_validate({"name": name, **rule}) for name, rule in rules.items()}


@cache
def broken_promise() -> FaultKind:
    """Return the kind of fault that a model finds by reading."""
    declared = tomllib.loads((_HERE / "broken_promise.toml").read_text(encoding="utf-8"))
    return FaultKind.model_validate({"name": "broken_promise", **declared})
