"""Secrets in what a model would be shown, put under a cover.

A cover is a name that stands for the secret in one conversation. Where the model repeats it in an edit, the secret
is put back, so a line with a key in it can be edited by somebody who never saw the key. A name like a cover that stands
for nothing is never written into a file (`unknown_covers`).
"""

from __future__ import annotations

import json
import re
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from rolecall_server.context.encoded import MIN_CHARACTERS, find_encoded, occurrences
from rolecall_server.context.secret_forms import ENCODED, Secret, find_secrets, in_order
from rolecall_server.text_work import look_at_the_clock

_COVER = re.compile(r"REDACTED_(?P<kind>[A-Z]{1,20}(?:_[A-Z]{1,20}){0,3})_[0-9]+")
_REPEATED = re.compile(r"REDACTED(?:[ _-][A-Z]{1,20}){1,4}[ _-][0-9]+", re.IGNORECASE)
"""A cover as a model may repeat it."""
_INVENTED = re.compile(
    r"(?<![A-Za-z0-9])REDACTED(?:[_-][A-Z]{1,20}){0,4}[_-](?:KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL|WEBHOOK)(?P<number>[_-]?[0-9]+)?"
    r"(?![A-Za-z])",
    re.IGNORECASE,
)
"""The forms that a model may have given to a cover."""
_DIGITS = re.compile(r"[0-9]*")


def unknown_covers(text: str, shown: str) -> tuple[str, ...]:
    """Return what in *text*, which is uncovered, looks like a cover and stands for nothing.

    What stands in *shown*, uncovered too, is a word of its own and no cover. A name without a number counts where
    *shown* holds secrets.
    """
    found = [match for match in _INVENTED.finditer(text) if not _stands_in(match[0], shown)]
    has_secrets = any(not match["number"] for match in found) and bool(find_secrets(shown))
    return tuple(dict.fromkeys(match[0] for match in found if match["number"] or has_secrets))


def _stands_in(name: str, shown: str) -> bool:
    look_at_the_clock()
    return name in shown


@dataclass
class Covers:
    """The covers of one conversation: each secret keeps the one it got first."""

    by_secret: dict[str, str] = field(default_factory=dict[str, str])
    unmasked: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """The secrets that code which was run saw masks of, by mask: here they are the same."""
    watched: tuple[str, ...] = field(default=(), repr=False)
    """The values that are covered however they are encoded, and that no code may look for."""
    fixtures: tuple[str, ...] = field(default=(), repr=False)
    """Secrets of tests, which code that is run sees as they are: covered wherever they stand, and however encoded."""
    _seen: set[str] = field(default_factory=set[str])
    """Names like covers that stand in the texts themselves; no secret gets one of them."""
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)
    """Threads of one run cover at the same time."""

    def cover(self, text: str) -> str:
        """Return *text* with a cover for each secret, and for each word of its own that is a cover already."""
        # A short secret stands by chance in any long text; its mask does not.
        told = [secret for mask, secret in self.unmasked.items() if len(secret) >= MIN_CHARACTERS or mask in text]
        text = self._without_masks(text)
        encoded = [Secret(ENCODED, *place) for place in find_encoded(text, (*self.watched, *self.fixtures))]
        known = (place for secret in (*told, *self.fixtures) for place in _places_of(secret, text))
        secrets = in_order([*find_secrets(text), *known, *encoded])
        names = list(_COVER.finditer(text))
        # Only what is shared is held: to find the secrets takes long, and others may do so meanwhile.
        with self._lock:
            return self._with_covers(text, names, secrets)

    def _with_covers(self, text: str, names: Sequence[re.Match[str]], secrets: Sequence[Secret]) -> str:
        ours = set(self.by_secret.values())
        taken = [Secret(match["kind"], *match.span()) for match in names if match[0] in ours]
        self._seen |= {match[0] for match in names}
        parts: list[str] = []
        done = 0
        for secret in in_order([*secrets, *taken]):
            look_at_the_clock()
            # Digits behind a secret go under its cover too: behind the cover they would be read as part of its number.
            end = max(secret.end, _DIGITS.match(text, secret.end).end())  # pyright: ignore[reportOptionalMemberAccess]
            parts += [text[done : secret.start], self._cover_of(text[secret.start : end], secret.kind, text, ours)]
            done = end
        return "".join([*parts, text[done:]])

    def gives_away(self, text: str) -> bool:
        """Return whether something that is watched for stands encoded in *text*."""
        return bool(find_encoded(self._without_masks(text), self.watched))

    def _without_masks(self, text: str) -> str:
        for mask, secret in self.unmasked.items():
            text = text.replace(mask, secret)
        return text

    def uncover(self, text: str, *, in_json: bool = False) -> str:
        """Return *text* with the secrets in place of their covers, however a model spells those.

        *in_json*: the text is JSON, within whose strings the secrets stand.
        """
        with self._lock:
            by_cover = {cover: secret for secret, cover in self.by_secret.items()}

        def secret_of(match: re.Match[str]) -> str:
            secret = by_cover.get(re.sub("[ -]", "_", match[0].upper()))
            if secret is None:
                return match[0]
            return json.dumps(secret, ensure_ascii=False)[1:-1] if in_json else secret

        return _REPEATED.sub(secret_of, text) if by_cover else text

    def kinds_in(self, text: str) -> dict[str, int]:
        """Return the number of secrets of each kind that are covered in *text*, which is covered already."""
        ours = set(self.by_secret.values())
        found = {match[0]: match["kind"] for match in _COVER.finditer(text)} if ours else {}
        return dict(Counter(kind for cover, kind in found.items() if cover in ours))

    def _cover_of(self, secret: str, kind: str, text: str, given: set[str]) -> str:
        cover = self.by_secret.get(secret)
        number = len(self.by_secret) + 1
        while cover is None:
            name = f"REDACTED_{kind}_{number}"
            if name not in text and name not in self._seen and name not in given:
                cover = self.by_secret[secret] = name
                given.add(name)
            number += 1
        return cover


def _places_of(secret: str, text: str) -> Iterator[Secret]:
    """Yield where *secret* stands in *text*, which need not say there that it is one."""
    return (Secret("SECRET", at, at + len(secret)) for at in occurrences(text, secret))
