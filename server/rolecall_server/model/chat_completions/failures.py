"""Whatever the SDK throws, as one of our errors that says who acts next."""

from __future__ import annotations

import re
import socket
import ssl
from typing import cast
from urllib.parse import urljoin

import httpx2
import openai

from rolecall_server.errors import ConnectionFailed, DeadlinePassed, ReplyMalformed, RequestRefused, RolecallError
from rolecall_server.model.chat_completions.complaints import explain_complaint, read_complaint
from rolecall_server.model.endpoint import Asked, Endpoint

_MOST_OF_AN_ADDRESS = 200


def explain(error: Exception, asked: Asked) -> RolecallError:
    """Return *error* in our words; there are some for every exception, and none contain the API key."""
    match error:
        case _ if own := next((cause for cause in _causes(error) if isinstance(cause, RolecallError)), None):
            failure = own
        case openai.APIStatusError() if error.response.has_redirect_location:
            failure = _sent_elsewhere(error.response, asked)
        case openai.APIStatusError():
            retry_after = error.response.headers.get("retry-after", "")
            complaint = read_complaint(error.body, asked.endpoint, error.status_code, retry_after)
            failure = explain_complaint(complaint, asked)
        case _ if _led_to(error, httpx2.DecodingError):
            failure = _unreadable(error, asked)
        case openai.APIConnectionError() | httpx2.RequestError():
            failure = _explain_connection(error, asked)
        case openai.APIError():
            failure = explain_complaint(read_complaint(error.body or error.message, asked.endpoint), asked)
        case UnicodeEncodeError():
            failure = RequestRefused(
                f"The request to {asked.label} holds text that is not valid Unicode ({error.reason}).",
                "Look for broken characters in the brief and in the files it concerns.",
            )
        case _:
            failure = _unreadable(error, asked)
    return failure


def _unreadable(error: Exception, asked: Asked) -> ReplyMalformed:
    return ReplyMalformed(
        f"{asked.label} answered with something that cannot be read ({type(error).__name__}).",
        "Check that ROLECALL_BASE_URL is an OpenAI-compatible endpoint, and that nothing between you and it "
        "answers in its place.",
    )


def _sent_elsewhere(response: httpx2.Response, asked: Asked) -> RequestRefused:
    try:
        location = urljoin(str(response.request.url), response.headers["location"])
        address = Endpoint(location).address[:_MOST_OF_AN_ADDRESS]
    except ValueError:
        address = "what is no address"
    return RequestRefused(
        f"{asked.label} redirects to {address}; nothing was sent there.",
        "If your model is there, and you trust it, name that address in ROLECALL_BASE_URL (rolecall.model.baseUrl).",
    )


def late(asked: Asked) -> DeadlinePassed:
    """Return the error for a reply that was not complete in time."""
    return DeadlinePassed(
        f"{asked.label} gave no complete reply within {asked.timeout_s:g} s.",
        "Try again, choose a faster model, show it less (rolecall.model.contextTokens), "
        "or allow more time (rolecall.model.timeoutSeconds).",
    )


def _explain_connection(error: Exception, asked: Asked) -> ConnectionFailed | DeadlinePassed:
    if _led_to(error, httpx2.TimeoutException) and not _led_to(error, httpx2.ConnectTimeout):
        return late(asked)
    if _led_to(error, socket.gaierror):
        why, next_step = "its host is not known", "Check the spelling of ROLECALL_BASE_URL, and the network."
    elif _led_to(error, ssl.SSLError):
        why = f"there is no secure connection, {_innermost_words(error)}"
        next_step = "A local server usually speaks http, not https; for a certificate of your own, set SSL_CERT_FILE."
    elif _led_to(error, httpx2.ConnectTimeout):
        why, next_step = "nothing answers there in time", _how_to_connect(asked)
    elif _led_to(error, httpx2.ConnectError):
        why, next_step = f"nothing answers there ({_innermost_words(error)})", _how_to_connect(asked)
    else:
        why = f"the connection broke, {_innermost_words(error)}"
        next_step = "Try again; if it keeps happening, look at the endpoint's own log."
    return ConnectionFailed(f"{asked.label} cannot be reached: {asked.endpoint.redact(why)}.", next_step)


def _how_to_connect(asked: Asked) -> str:
    if asked.endpoint.is_local:
        return "Start the model's server (for Ollama: `ollama serve`), or check the port in ROLECALL_BASE_URL."
    return "Check ROLECALL_BASE_URL, the network, and HTTPS_PROXY if you are behind a proxy."


def _led_to(error: BaseException, kind: type[BaseException]) -> bool:
    return any(isinstance(cause, kind) for cause in _causes(error))


def _innermost_words(error: BaseException) -> str:
    root = _causes(error)[-1]
    if isinstance(root, ConnectionRefusedError):
        return "connection refused"  # asyncio's own words name a tuple
    words = root.strerror if isinstance(root, OSError) and root.strerror else str(root)
    return re.sub(r" \(_ssl\.c:\d+\)", "", words).rstrip(".") or type(root).__name__


def _causes(error: BaseException) -> list[BaseException]:
    """Return *error* and what led to it, outermost first; from a group of causes the first one."""
    causes: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None and cause not in causes:
        causes.append(cause)
        if isinstance(cause, BaseExceptionGroup):
            cause = cast("BaseExceptionGroup[BaseException]", cause).exceptions[0]
        else:
            cause = cause.__cause__ or cause.__context__
    return causes
