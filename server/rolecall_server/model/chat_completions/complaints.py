"""The complaints with which endpoints refuse, sorted into our errors."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import cast

from rolecall_server.errors import (
    ContextOverflow,
    KeyRefused,
    ProviderUnavailable,
    RateLimited,
    ReplyRefused,
    RequestRefused,
    RolecallError,
    UnknownModel,
)
from rolecall_server.model.endpoint import Asked, Endpoint

_NO_SUCH_MODEL = re.compile(
    r"model.{0,120}?(not found|not exist)|(unknown|invalid|no such|not a valid) model|no models? (is )?loaded",
    re.IGNORECASE,
)
_TOO_LONG = re.compile(
    r"(context|prompt|input).{0,60}?(length|window|size|too long)|too many tokens|maximum context", re.IGNORECASE
)
_BAD_KEY = re.compile(r"(api.?key).{0,20}?(not valid|invalid|incorrect)|invalid.{0,5}api.?key", re.IGNORECASE)
_QUOTA_CODES = frozenset({"insufficient_quota", "billing_hard_limit_reached"})
_FILTER_CODES = frozenset({"content_filter", "content_policy_violation"})
_STATUS_OF_CODE = {"rate_limit_exceeded": 429, "invalid_api_key": 401, "model_not_found": 404, "invalid_prompt": 400}
_MAX_SAID_CHARACTERS = 300
_MAX_READ_CHARACTERS = 20_000
_LONGEST_WAIT = timedelta(days=365)


@dataclass(frozen=True)
class Refusal:
    """A refusal as the endpoint put it."""

    status: int
    code: str
    said: str
    """On one line, without the key; empty where nothing was said."""
    retry_after: str = ""
    """The header of that name."""

    def sentence(self, asked: Asked, what: str) -> str:
        """Return a sentence that says who did *what*, and what was said."""
        said = f": {self.said}" if self.said else ""
        return f"{asked.label} {what} (status {self.status}){said}".rstrip(".") + "."


def read_complaint(body: object, endpoint: Endpoint, status: int | None = None, retry_after: str = "") -> Refusal:
    """Return the complaint in an error's *body*; *status* is ``None`` where it came inside a stream."""
    code, said = _read_body(body, endpoint)
    if len(said) > _MAX_SAID_CHARACTERS:
        said = said[: _MAX_SAID_CHARACTERS - 2] + " …"
    return Refusal(status or _status_of(code), code[:_MAX_SAID_CHARACTERS], said, retry_after)


def explain_complaint(complaint: Refusal, asked: Asked) -> RolecallError:
    """Return *complaint* as the first of our errors that it fits."""
    return next(explain(complaint, asked) for fits, explain in _RULES if fits(complaint))


def quota_spent(body: str) -> bool:
    """Return whether a 429 says that the quota is gone, which no retry brings back."""
    return any(code in body for code in _QUOTA_CODES)


def _explain_quota(complaint: Refusal, asked: Asked) -> RateLimited:
    return RateLimited(
        complaint.sentence(asked, "says that the quota is spent"),
        "Waiting does not help: look at the plan and billing of that account, or choose another model.",
    )


def _explain_key(complaint: Refusal, asked: Asked) -> KeyRefused:
    variable = asked.endpoint.key_variable
    if not asked.endpoint.has_key:
        return KeyRefused(
            complaint.sentence(asked, "asks for an API key"),
            f"Set {variable} to a key of that endpoint where the server is started.",
        )
    return KeyRefused(
        complaint.sentence(asked, "refused the API key"),
        f"Check the key in {variable}, and that it may use this model.",
    )


def _explain_limit(complaint: Refusal, asked: Asked) -> RateLimited:
    wait = _wait(complaint.retry_after)
    when = "in a minute" if wait is None else f"after {_clock((datetime.now(UTC) + wait).astimezone())}"
    return RateLimited(
        complaint.sentence(asked, "asks for patience"), f"Run the command again {when}, or choose another model."
    )


def _explain_filter(complaint: Refusal, asked: Asked) -> ReplyRefused:
    return ReplyRefused(
        complaint.sentence(asked, "stopped at its content filter"),
        "Word the request differently, or choose another model.",
    )


def _explain_unknown(complaint: Refusal, asked: Asked) -> UnknownModel:
    next_step = "Check the name in ROLECALL_MODEL (rolecall.model.name)"
    if not asked.endpoint.address.endswith("/v1"):
        next_step += ", and the address in ROLECALL_BASE_URL (rolecall.model.baseUrl): it usually ends with /v1"
    return UnknownModel(complaint.sentence(asked, "is not known there"), f"{next_step}.")


def _explain_length(complaint: Refusal, asked: Asked) -> ContextOverflow:
    return ContextOverflow(
        complaint.sentence(asked, "found the request too long"),
        "Lower rolecall.model.contextTokens, choose a model with a longer context, or give a local server one.",
    )


def _explain_outage(complaint: Refusal, asked: Asked) -> ProviderUnavailable:
    return ProviderUnavailable(complaint.sentence(asked, "is not available"))


def _explain_refusal(complaint: Refusal, asked: Asked) -> RequestRefused:
    return RequestRefused(
        complaint.sentence(asked, "refused the request"), "Change what it complains about, or choose another model."
    )


_RULES: tuple[tuple[Callable[[Refusal], object], Callable[[Refusal, Asked], RolecallError]], ...] = (
    # Before the rule for 429, because a spent quota comes with that status too.
    (lambda it: it.status == 402 or it.code in _QUOTA_CODES, _explain_quota),
    # Some endpoints tell of a bad key with 400 instead of 401.
    (lambda it: it.status in (401, 403) or (it.status == 400 and _BAD_KEY.search(it.said)), _explain_key),
    (lambda it: it.status == 429, _explain_limit),
    (lambda it: it.code in _FILTER_CODES, _explain_filter),
    (lambda it: it.status >= 500 and _TOO_LONG.search(it.said), _explain_length),  # LM Studio, and early llama.cpp
    (lambda it: it.status in (408, 409, 425) or it.status >= 500, _explain_outage),
    (lambda it: it.status == 404 or it.code == "model_not_found" or _NO_SUCH_MODEL.search(it.said), _explain_unknown),
    (lambda it: it.status == 413 or it.code == "context_length_exceeded" or _TOO_LONG.search(it.said), _explain_length),
    (lambda it: True, _explain_refusal),
)


def _read_body(body: object, endpoint: Endpoint) -> tuple[str, str]:
    """Return the code and the sentence in *body*, whichever of the shapes in use it has; long ones not to their end."""
    code: object = ""
    while isinstance(body, (list, Mapping)) and body:
        if isinstance(body, list):
            body = cast("list[object]", body)[0]
        else:
            fields = cast("Mapping[str, object]", body)
            code = fields.get("code") or code or fields.get("type")
            body = fields.get("error") or fields.get("message") or fields.get("detail") or fields.get("msg")
    # The key is taken out before anything is cut, or half of it would stay.
    said = " ".join(endpoint.redact(body)[:_MAX_READ_CHARACTERS].split()) if isinstance(body, str) else ""
    return str(code or ""), "a web page instead of an answer" if said.startswith("<") else said


def _status_of(code: str) -> int:
    """Return the status that an error inside a stream would have had as a response of its own."""
    return int(code) if re.fullmatch(r"[45]\d\d", code) else _STATUS_OF_CODE.get(code, 500)


def _wait(retry_after: str) -> timedelta | None:
    """Return the time that a ``Retry-After`` header asks to wait, in seconds or until a date; ``None`` if it asks
    nothing.
    """
    with suppress(ValueError, OverflowError):
        return min(timedelta(seconds=max(0.0, float(retry_after))), _LONGEST_WAIT)
    with suppress(ValueError, OverflowError):
        return max(timedelta(), parsedate_to_datetime(retry_after).astimezone() - datetime.now(UTC))
    return None


def _clock(moment: datetime) -> str:
    today = moment.date() == datetime.now().astimezone().date()
    return f"{moment:%H:%M:%S}" if today else f"{moment:%Y-%m-%d %H:%M}"
