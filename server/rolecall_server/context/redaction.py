"""Secrets in what a model would be shown: found by their form or by the name they are bound to, and put under a cover.

A cover is a name that stands for the secret in one conversation. Where the model repeats it in an edit, the secret
is put back, so a line with a key in it can be edited by somebody who never saw the key. A name like a cover that stands
for nothing is never written into a file (`unknown_covers`).
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

_FORMS = {
    "PRIVATE_KEY": r"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY(?: BLOCK)?-----(?s:.{20,12000}?)"
    r"-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----",
    "PUTTY_KEY": r"Private-Lines: \d+(?:[\r\n]+[A-Za-z0-9+/=]+)+",
    "AGE_KEY": r"AGE-SECRET-KEY-1[0-9A-Z]{50,}",
    "AWS_KEY": r"(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16}",
    "GITHUB_TOKEN": r"gh[pousr]_[A-Za-z0-9]{30,255}|github_pat_[A-Za-z0-9_]{40,255}",
    "GITLAB_TOKEN": r"gl(?:pat|ptt|rt|cbt|dt|oas|soat|ft|imt|agent)-[A-Za-z0-9_.-]{20,}",
    "SLACK_TOKEN": r"xox[abeoprs]-[A-Za-z0-9-]{10,}|xapp-\d-[A-Za-z0-9-]{10,}",
    "SLACK_WEBHOOK": r"hooks\.slack\.com/(?:services|workflows)/[A-Za-z0-9/_-]{20,}",
    "DISCORD_WEBHOOK": r"discord(?:app)?\.com/api/webhooks/\d+/[A-Za-z0-9_-]{30,}",
    "DISCORD_TOKEN": r"[MNO][A-Za-z0-9_-]{23,25}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,38}",
    "TELEGRAM_TOKEN": r"\d{8,10}:AA[A-Za-z0-9_-]{32,35}",
    "GOOGLE_KEY": r"AIza[A-Za-z0-9_-]{35}|GOCSPX-[A-Za-z0-9_-]{20,}|ya29\.[A-Za-z0-9_-]{20,}",
    "STRIPE_KEY": r"(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9+/=]{24,}",
    "MODEL_KEY": r"sk-(?:ant-|proj-|svcacct-|or-v1-)?[A-Za-z0-9_-]{20,}|hf_[A-Za-z0-9]{30,}|gsk_[A-Za-z0-9]{40,}"
    r"|r8_[A-Za-z0-9]{30,}|xai-[A-Za-z0-9]{40,}|pplx-[A-Za-z0-9]{40,}",
    "PACKAGE_TOKEN": r"npm_[A-Za-z0-9]{36}|pypi-AgE[A-Za-z0-9_-]{50,}|rubygems_[a-f0-9]{48}|cio[A-Za-z0-9]{32}"
    r"|dckr_(?:pat|oat)_[A-Za-z0-9_-]{20,}|oy2[a-z0-9]{43}",
    "MAIL_KEY": r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{32,}|key-[0-9a-f]{32}|[0-9a-f]{32}-us\d{1,2}"
    r"|xkeysib-[a-f0-9]{64}-[A-Za-z0-9]{16}",
    "TWILIO_KEY": r"(?:SK|AC)[0-9a-f]{32}",
    "CLOUD_TOKEN": r"do[opr]_v1_[a-f0-9]{64}|dapi[a-f0-9]{32}(?:-\d)?|hvs\.[A-Za-z0-9_-]{24,}"
    r"|[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,}"
    r"|AccountKey=[A-Za-z0-9+/]{60,}={0,2}|LTAI[A-Za-z0-9]{12,}|dp\.(?:pt|st|sa|ct)\.[A-Za-z0-9.]{40,}|pul-[a-f0-9]{40}",
    "SERVICE_TOKEN": r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}|sq0(?:atp|csp|idp)-[A-Za-z0-9_-]{22,}|EAAA[A-Za-z0-9_-]{60}"
    r"|lin_api_[A-Za-z0-9]{32,}|ntn_[A-Za-z0-9]{40,}|PMAK-[a-f0-9]{24}-[a-f0-9]{34}|ATATT3[A-Za-z0-9_=-]{60,}"
    r"|figd_[A-Za-z0-9_-]{36,}|glsa_[A-Za-z0-9]{32}_[a-fA-F0-9]{8}|NRAK-[A-Z0-9]{27}|sntry[su]_[A-Za-z0-9+/=_-]{40,}"
    r"|EZ[AT]K[a-zA-Z0-9]{54}|access_token\$production\$[a-z0-9]{16}\$[a-f0-9]{32}",
    "WEB_TOKEN": r"eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}",
}
"""The forms that providers publish for their keys, so that scanners find them.

Source: the providers' own documentation of their token formats.
"""

_FORM = re.compile(
    "|".join(rf"(?P<{kind}>(?<![A-Za-z0-9_])(?:{form})(?![A-Za-z0-9]))" for kind, form in _FORMS.items())
)

_IN_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://[^\s:/@'\"<>{}$]*:(?P<secret>[^\s:/@'\"<>{}$]{3,})@", re.IGNORECASE)
_IN_HEADER = re.compile(
    r"\b(?:authorization|x-api-key|api-key|x-auth-token|set-cookie|cookie)\b\\?['\"]?\s*[:=]\s*\\?['\"]?"
    r"(?:(?:bearer|basic|token|digest)\s+)?(?P<secret>[A-Za-z0-9+/=_.~-]{12,})",
    re.IGNORECASE,
)
_NAME = re.compile(
    r"passw(?:or)?d|passphrase|pwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|auth[_-]?key"
    r"|signing[_-]?key|encryption[_-]?key|credential|client[_-]?key",
    re.IGNORECASE,
)
_BOUND = re.compile(
    r"[A-Za-z0-9_-]{0,24}(?:\\?['\"])?\]?\s*(?::\s*(?:str|bytes)\s*=|:=|=>|=|:|,(?=\s*[brfu]{0,2}\\?['\"]))\s*[brfu]{0,2}"
    r"(?:\\?(?P<quote>['\"])(?P<quoted>[^'\"\r\n\\]{6,200})\\?(?P=quote)|(?P<bare>[^\s'\"\\,;()\[\]{}<>$]{8,200})(?=[\s,;]|$))"
)
"""What follows a name that speaks of a secret, where something is bound to it."""

_NETRC = re.compile(r"\bmachine\s+\S+\s+login\s+\S+\s+password\s+(?P<secret>\S{3,})")
_DENSE = re.compile(r"(?<![A-Za-z0-9+/=_-])[A-Za-z0-9+/_-]{32,200}={0,2}(?![A-Za-z0-9+/=_-])")

_PLACEHOLDERS = re.compile(
    r"(?:x{3,}|\*{3,}|\.{3,}|change.?me|your?[-_ ].*|example.*|dummy.*|test(?:ing)?|fake.*|none|null|true|false|string"
    r"|password|secret|token|placeholder|redacted.*|todo|default|required|optional|undefined|<.*>|\{.*\}|%\(?.*)",
    re.IGNORECASE,
)
_NO_SECRET = re.compile(
    r"[A-Za-z]+(?:[ _.:/-]+[A-Za-z0-9]+)*[.:!?]?|[A-Za-z]+|\.{0,2}/.*|https?:.*|#[0-9A-Fa-f]{3,8}|[A-Za-z_.]+\(.*|.* .*"
)
"""Words, names, paths, addresses, colours, calls."""
_MIN_BITS = 3.9
"""Shannon entropy for each character above which a long run of letters and digits may be a key.

Source: measured; the lowest of 10,000 random base64 texts of 32 characters has 3.99.
"""
_WORD_RUN = re.compile(r"[a-z]{4,}")
_MAX_SHARE_OF_WORDS = 0.4
"""Of the letters, in runs of four lower-case ones and more; names are made of words, keys are not."""

_COVER = re.compile(r"REDACTED_(?P<kind>[A-Z]+(?:_[A-Z]+)*)_[0-9]+")
_REPEATED = re.compile(r"REDACTED(?:[ _-][A-Z]+)+[ _-][0-9]+", re.IGNORECASE)
"""A cover as a model may repeat it."""
_INVENTED = re.compile(
    r"(?<![A-Za-z0-9])REDACTED(?:[_-][A-Z]+)*[_-](?:KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL|WEBHOOK)(?P<number>[_-]?[0-9]+)?"
    r"(?![A-Za-z])",
    re.IGNORECASE,
)
"""What a model may have made of a cover."""
_DIGITS = re.compile(r"[0-9]*")


@dataclass(frozen=True)
class Secret:
    """A place in a text that no model may see."""

    kind: str
    start: int
    end: int


def find_secrets(text: str) -> tuple[Secret, ...]:
    """The secrets in *text*, in order, not overlapping."""
    return _in_order(_candidates(text))


def _in_order(places: Iterable[Secret]) -> tuple[Secret, ...]:
    """*places* without those that begin within another."""
    found: list[Secret] = []
    for secret in sorted(places, key=lambda one: (one.start, -one.end)):
        if not found or secret.start >= found[-1].end:
            found.append(secret)
    return tuple(found)


def unknown_covers(text: str, shown: str) -> tuple[str, ...]:
    """Return what in *text*, which is uncovered, looks like a cover and stands for nothing.

    What stands in *shown*, uncovered too, is a word of its own and no cover. A name without a number counts where
    *shown* holds secrets.
    """
    found = [match for match in _INVENTED.finditer(text) if match[0] not in shown]
    has_secrets = any(not match["number"] for match in found) and bool(find_secrets(shown))
    return tuple(dict.fromkeys(match[0] for match in found if match["number"] or has_secrets))


@dataclass
class Covers:
    """The covers of one conversation: each secret keeps the one it got first."""

    by_secret: dict[str, str] = field(default_factory=dict[str, str])
    _seen: set[str] = field(default_factory=set[str])
    """Names like covers that stand in the texts themselves; no secret gets one of them."""

    def cover(self, text: str) -> str:
        """Return *text* with a cover for each secret, and for each word of its own that is a cover already."""
        names = list(_COVER.finditer(text))
        ours = set(self.by_secret.values())
        taken = [Secret(match["kind"], *match.span()) for match in names if match[0] in ours]
        self._seen |= {match[0] for match in names}
        parts: list[str] = []
        done = 0
        for secret in _in_order([*find_secrets(text), *taken]):
            end = max(secret.end, _DIGITS.match(text, secret.end).end())  # pyright: ignore[reportOptionalMemberAccess]
            parts += [text[done : secret.start], self._cover_of(text[secret.start : end], secret.kind, text)]
            done = end
        return "".join([*parts, text[done:]])

    def uncover(self, text: str, *, in_json: bool = False) -> str:
        """Return *text* with the secrets in place of their covers, however a model spells those.

        *in_json*: the text is JSON, within whose strings the secrets stand.
        """
        by_cover = {cover: secret for secret, cover in self.by_secret.items()}

        def secret_of(match: re.Match[str]) -> str:
            secret = by_cover.get(re.sub("[ -]", "_", match[0].upper()))
            if secret is None:
                return match[0]
            return json.dumps(secret, ensure_ascii=False)[1:-1] if in_json else secret

        return _REPEATED.sub(secret_of, text) if by_cover else text

    def kinds_in(self, text: str) -> dict[str, int]:
        """How many secrets of each kind are covered in *text*, which is covered already."""
        ours = set(self.by_secret.values())
        found = {match[0]: match["kind"] for match in _COVER.finditer(text)} if ours else {}
        return dict(Counter(kind for cover, kind in found.items() if cover in ours))

    def _cover_of(self, secret: str, kind: str, text: str) -> str:
        cover = self.by_secret.get(secret)
        number = len(self.by_secret) + 1
        while cover is None:
            name = f"REDACTED_{kind}_{number}"
            if name not in text and name not in self._seen and name not in self.by_secret.values():
                cover = self.by_secret[secret] = name
            number += 1
        return cover


def _candidates(text: str) -> Iterator[Secret]:
    for match in _FORM.finditer(text):
        yield Secret(match.lastgroup or "SECRET", *match.span())
    for pattern, kind in ((_IN_ADDRESS, "PASSWORD"), (_IN_HEADER, "CREDENTIAL"), (_NETRC, "PASSWORD")):
        for match in pattern.finditer(text):
            if _is_value(match["secret"]):
                yield Secret(kind, *match.span("secret"))
    for name in _NAME.finditer(text):
        match = _BOUND.match(text, name.end())
        if match is not None:
            group = "quoted" if match["quoted"] is not None else "bare"
            if _is_bound_secret(match[group], is_quoted=group == "quoted"):
                yield Secret("SECRET", *match.span(group))
    for match in _DENSE.finditer(text):
        if (
            _mixes(match[0], n_classes=3)
            and not _is_made_of_words(match[0])
            and bits_per_character(match[0]) >= _MIN_BITS
        ):
            yield Secret("KEY", *match.span())


def _is_value(value: str) -> bool:
    return not _PLACEHOLDERS.fullmatch(value)


def _is_bound_secret(value: str, *, is_quoted: bool) -> bool:
    """Whether what is bound to the name of a secret is one, and not words, a path or the name of something else."""
    if not _is_value(value) or value != value.strip() or _NO_SECRET.fullmatch(value):
        return False
    return is_quoted or (_mixes(value) and not _is_made_of_words(value))


def _is_made_of_words(value: str) -> bool:
    n_letters = sum(c.isalpha() for c in value)
    return sum(map(len, _WORD_RUN.findall(value))) > _MAX_SHARE_OF_WORDS * max(n_letters, 1)


def _mixes(value: str, n_classes: int = 2) -> bool:
    classes = (str.isupper, str.islower, str.isdigit)
    return sum(any(test(c) for c in value) for test in classes) >= n_classes


def bits_per_character(text: str) -> float:
    """The Shannon entropy of the characters of *text*."""
    counts = Counter(text).values()
    return -sum(n / len(text) * math.log2(n / len(text)) for n in counts)
