"""The address where a model is asked, and the key for it; how both may be shown."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from urllib.parse import SplitResult, urlsplit, urlunsplit

from rolecall_server.errors import KeyRefused, NoModelConfigured
from rolecall_server.settings import ModelSettings

OPENAI_BASE_URL = "https://api.openai.com/v1"
PLACEHOLDER_KEY = "no-key"
"""Sent where no key is set: local servers ignore it, and the SDK insists on one."""


@dataclass(frozen=True)
class Endpoint:
    """An OpenAI-compatible address and the key for it."""

    base_url: str
    api_key: str = field(default=PLACEHOLDER_KEY, repr=False)
    key_variable: str = "OPENAI_API_KEY"
    """Where the key came from, or should come from."""

    @property
    def address(self) -> str:
        """The address without a user name, password or query: fit to be shown."""
        parts = urlsplit(self.base_url)
        return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path.rstrip("/"), "", ""))

    @property
    def has_key(self) -> bool:
        """Return whether a key of the developer's is sent."""
        return self.api_key != PLACEHOLDER_KEY

    @property
    def is_local(self) -> bool:
        """Return whether this machine itself answers; no proxy is asked then."""
        host = urlsplit(self.base_url).hostname or ""
        try:
            return ipaddress.ip_address(host).is_loopback
        except ValueError:
            return host == "localhost" or host.endswith(".localhost")

    @property
    def has_certificate(self) -> bool:
        """Return whether it shows a certificate; those that prove it are loaded for no other, which takes 20 ms."""
        return urlsplit(self.base_url).scheme == "https"

    def redact(self, text: str) -> str:
        """Return *text* without the key, should an endpoint have echoed it."""
        return text.replace(self.api_key, "[the API key]") if self.has_key else text


@dataclass(frozen=True)
class Asked:
    """The endpoint and the model that were asked, and for how long; an error has to name them."""

    endpoint: Endpoint
    model: str
    """Empty while nobody has chosen one."""
    timeout_s: float

    @property
    def label(self) -> str:
        """``gpt-x at https://host/v1``."""
        return f"{self.model or 'The model'} at {self.endpoint.address}"


def find_endpoint(settings: ModelSettings, environ: Mapping[str, str]) -> Endpoint:
    """Return the endpoint that *settings* and *environ* name.

    ``OPENAI_BASE_URL`` stands in for an address that is not set: a key that was meant for it must not go elsewhere.

    Raises:
        NoModelConfigured: the address is none, or OpenAI's own is meant and there is no key.
        KeyRefused: the key holds characters that no key can have.
    """
    base_url = settings.base_url or environ.get("OPENAI_BASE_URL", "").strip() or OPENAI_BASE_URL
    host = _split(base_url).hostname
    key = environ.get(settings.api_key_variable, "").strip()
    if not key and host == urlsplit(OPENAI_BASE_URL).hostname:
        raise NoModelConfigured(
            f"{settings.name or 'A model'} at {OPENAI_BASE_URL} needs a key; {settings.api_key_variable} is empty.",
            f"Set {settings.api_key_variable} where the server is started, or name another endpoint with "
            "ROLECALL_BASE_URL (rolecall.model.baseUrl).",
        )
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise KeyRefused(
            f"The key in {settings.api_key_variable} holds spaces or characters that no key can have.",
            "Copy it again, alone and on one line.",
        )
    return Endpoint(base_url, key or PLACEHOLDER_KEY, settings.api_key_variable)


def _split(base_url: str) -> SplitResult:
    with suppress(ValueError):  # a bracket or a port that is none
        parts = urlsplit(base_url)
        if parts.scheme in ("http", "https") and parts.hostname and parts.port != 0:
            return parts
    raise NoModelConfigured(
        "The address of the model (ROLECALL_BASE_URL, rolecall.model.baseUrl) is no http or https address.",
        "Write it in full, for example http://localhost:11434/v1.",
    )
