"""Secrets in a text, found by their form or by the name they are bound to."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from rolecall_server.text_work import look_at_the_clock

# No part of a pattern repeats without a bound, so that a long line is read in little time.
_FORMS = {
    "PRIVATE_KEY": r"-----BEGIN [A-Z ]{0,20}PRIVATE KEY(?: BLOCK)?-----(?:[^-<>{}]|-(?!-)){20,12000}"
    r"-----END [A-Z ]{0,20}PRIVATE KEY(?: BLOCK)?-----",
    "PUTTY_KEY": r"Private-Lines: \d{1,4}(?:[\r\n]{1,2}[A-Za-z0-9+/=]{1,100}){1,200}",
    "AGE_KEY": r"AGE-SECRET-KEY-1[0-9A-Z]{50,400}",
    "AWS_KEY": r"(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16}",
    "GITHUB_TOKEN": r"gh[pousr]_[A-Za-z0-9]{30,255}|github_pat_[A-Za-z0-9_]{40,255}",
    "GITLAB_TOKEN": r"gl(?:pat|ptt|rt|cbt|dt|oas|soat|ft|imt|agent)-[A-Za-z0-9_.-]{20,400}"
    r"|GR1348941[A-Za-z0-9_-]{20,400}",
    "SLACK_TOKEN": r"xox[abeoprs]-[A-Za-z0-9-]{10,400}|xapp-\d-[A-Za-z0-9-]{10,400}",
    "SLACK_WEBHOOK": r"hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9/_-]{20,400}",
    "DISCORD_WEBHOOK": r"discord(?:app)?\.com/api/webhooks/\d{1,24}/[A-Za-z0-9_-]{30,400}",
    "DISCORD_TOKEN": r"[MNO][A-Za-z0-9_-]{23,25}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,38}",
    "TELEGRAM_TOKEN": r"\d{8,10}:AA[A-Za-z0-9_-]{32,35}",
    "GOOGLE_KEY": r"AIza[A-Za-z0-9_-]{35}|GOCSPX-[A-Za-z0-9_-]{20,400}|ya29\.[A-Za-z0-9_-]{20,400}",
    "STRIPE_KEY": r"(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{16,400}|whsec_[A-Za-z0-9+/=]{24,400}",
    # Not `sk-ssh-` and `sk-ecdsa-`: the types of OpenSSH's keys begin so.
    "MODEL_KEY": r"sk-(?!ssh-|ecdsa-)(?:ant-|proj-|svcacct-|or-v1-)?[A-Za-z0-9_-]{20,400}|hf_[A-Za-z0-9]{30,400}"
    r"|api_org_[A-Za-z]{34}|gsk_[A-Za-z0-9]{40,400}|r8_[A-Za-z0-9]{30,400}|xai-[A-Za-z0-9]{40,400}|pplx-[A-Za-z0-9]{40,400}",
    "PACKAGE_TOKEN": r"npm_[A-Za-z0-9]{36}|pypi-AgE[A-Za-z0-9_-]{50,400}|rubygems_[a-f0-9]{48}|cio[A-Za-z0-9]{32}"
    r"|dckr_(?:pat|oat)_[A-Za-z0-9_-]{20,400}|oy2[a-z0-9]{43}",
    "MAIL_KEY": r"SG\.[A-Za-z0-9_-]{16,400}\.[A-Za-z0-9_-]{32,400}|key-[0-9a-f]{32}|[0-9a-f]{32}-us\d{1,2}"
    r"|xkeysib-[a-f0-9]{64}-[A-Za-z0-9]{16}",
    "TWILIO_KEY": r"(?:SK|AC)[0-9a-f]{32}",
    "CLOUD_TOKEN": r"do[opr]_v1_[a-f0-9]{64}|dapi[a-f0-9]{32}(?:-\d)?|hv[sb]\.[A-Za-z0-9_-]{24,400}"
    r"|[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,400}"
    r"|AccountKey=[A-Za-z0-9+/]{60,400}={0,2}|LTAI[A-Za-z0-9]{12,400}"
    r"|dp\.(?:pt|st|sa|ct)\.[A-Za-z0-9.]{40,400}|pul-[a-f0-9]{40}",
    "SERVICE_TOKEN": r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}|sq0(?:atp|csp|idp)-[A-Za-z0-9_-]{22,400}"
    r"|EAAA[A-Za-z0-9_-]{60}|EAA[MC][A-Za-z0-9]{60,400}|[A-Za-z0-9_~.]{3}\dQ~[A-Za-z0-9_~.-]{31,34}|p8e-[a-f0-9]{32}"
    r"|sgp_(?:[A-Fa-f0-9]{16}_|local_)?[A-Fa-f0-9]{40}|s-s4t2(?:ud|af)-[a-f0-9]{64}|fo1_[A-Za-z0-9_-]{43}"
    r"|fm[12][ar]?_[A-Za-z0-9+/]{100,400}={0,3}"
    r"|lin_api_[A-Za-z0-9]{32,400}|ntn_[A-Za-z0-9]{40,400}|PMAK-[a-f0-9]{24}-[a-f0-9]{34}|ATATT3[A-Za-z0-9_=-]{60,400}"
    r"|pscale_(?:tkn|oauth|pw)_[A-Za-z0-9_=.-]{32,64}|A3-[A-Z0-9]{6}-[A-Z0-9-]{11,13}(?:-[A-Z0-9]{5}){3}|figd_[A-Za-z0-9_-]{36,400}|glsa_[A-Za-z0-9]{32}_[a-fA-F0-9]{8}|NRAK-[A-Z0-9]{27}|sntry[su]_[A-Za-z0-9+/=_-]{40,400}"
    r"|EZ[AT]K[a-zA-Z0-9]{54}|access_token\$production\$[a-z0-9]{16}\$[a-f0-9]{32}",
    "WEB_TOKEN": r"eyJ[A-Za-z0-9_-]{10,4000}\.eyJ[A-Za-z0-9_-]{10,4000}(?:\.[A-Za-z0-9_-]{10,4000})?"
    r"|(?:ops_)?eyJ[A-Za-z0-9+/]{200,4000}={0,3}",
}
"""The forms that providers publish for their keys, so that scanners find them.

Source: the providers' own documentation of their token formats.
"""

_FORM = re.compile(
    r"(?<![A-Za-z0-9_-])(?:"
    + "|".join(rf"(?P<{kind}>(?:{form})(?![A-Za-z0-9]))" for kind, form in _FORMS.items())
    + ")"
)

_IN_ADDRESS = re.compile(r"://[^\s:/@'\"<>{}$]{0,100}:(?P<secret>[^\s:/@'\"<>{}$,;\[\]]{3,100})@")
_IN_HEADER = re.compile(
    r"\bauthorization\\?['\"]?[ \t]{0,4}[:=,][ \t]{0,4}\\?['\"]?"
    r"(?P<scheme>(?:bearer|basic|token|digest|api-token)[ \t]{1,4})?(?P<secret>[A-Za-z0-9+/=_.~-]{8,500})",
    re.IGNORECASE,
)
_IN_COMMAND = re.compile(r"[ \t](?:-u|--user)[ \t=]{1,4}['\"]?[^\s:'\"${]{0,64}:['\"]?(?P<secret>[^\s'\"${]{6,64})")
"""In a command line of curl's, which is looked for in the characters before."""
_NAME = re.compile(
    r"(?P<strong>passw(?:or)?d|passphrase|pwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|auth[_-]?key"
    r"|signing[_-]?key|encryption[_-]?key|credential|client[_-]?key)"
    r"|(?:(?<!public)(?<!public[_-])(?<!pub)(?<!pub[_-])key|auth|creds|pw|pass)(?![A-Za-z0-9_-])",
    re.IGNORECASE,
)
"""The words that speak of a secret, surely (`strong`) or perhaps."""
_OPENS_NOTHING = re.compile(
    r"(?:request|change|next|page|continuation|sync|sequence|idempotency|action)[_-]?$|:$", re.IGNORECASE
)
"""The words before the name of a token that says which request it is, where a list goes on, or an address."""
_OPTION = re.compile(r"--[\w-]{0,20}$")
"""The beginning of an option of a command, whose value stands behind a space."""
_BOUND = re.compile(
    r"[\w.-]{0,24}(?:\\?['\"]|\[\])?\]?[ \t]{0,8}"
    r"(?:[ \t]string[ \t]{0,4}=|:[ \t]{0,4}(?:str|bytes|string)[ \t]{0,4}=|:{1,3}=|[.?|+!]{0,2}={1,3}>?|:"
    r"|>[ \t\r\n]{0,40}|,(?=[ \t]{0,8}[brfu]{0,2}\\?['\"])|[ \t](?=[\"`])|(?P<space>[ \t]))"
    r"[ \t]{0,8}[brfu@]{0,2}"
    r"(?:\\?(?P<quote>['\"`])(?P<quoted>[^'\"`\r\n\\]{8,500})(?:\\?(?P=quote)|\\[nr]|$)"
    r"|(?P<bare>[^\s'\"\\,;&()\[\]{}<>$`]{10,200}+)(?=[\s,;&<'\"`]|\\[nr]|$))"
)
"""The signs that follow a name that speaks of a secret, where something is bound to it, or compared with it."""

_NETRC = re.compile(
    r"\bmachine[ \t]{1,8}\S{1,100}\s{1,8}login\s{1,8}\S{1,100}\s{1,8}password\s{1,8}(?P<secret>[^\s\\'\"()]{3,100})"
)
_DENSE = re.compile(
    r"(?:['\"`=]|[=:][ \t]{1,4})(?P<secret>[A-Za-z0-9+/_-]{32,100}={0,2})(?=['\"`,;]|[ \t]{0,8}(?:[\r\n]|$))"
)
"""A long run of letters and digits that is bound to something, whatever its name."""

_OPENLY = re.compile(
    r"(?:id|sha\d{0,3}|hash|digest|md5|sum|signature|integrity|nonce|opaque|challenge|arn|etag|marker|public|cert|name|url|uri)s?"
    r"['\"\]]{0,2}[ \t]{0,4}[:=,]?[ \t]{0,4}['\"`]?$",
    re.IGNORECASE,
)
"""The end of a name that speaks of what everybody may see."""

_PLACEHOLDERS = re.compile(
    r"(?:x{3,100}|\*{3,100}|\.{3,100}|change.?me|your?[-_ ].*|.*example.*|dummy.*|test(?:ing)?|fake.*|none|null|true"
    r"|false|string|(?:password|pass(?:wd)?|secret|token|key)\d{0,2}|placeholder|.*redacted.*|todo|default|required|optional|undefined"
    r"|<.*>|\{.*\}|%\(?.*)",
    re.IGNORECASE,
)
_NAMED = re.compile(r"[A-Za-z]*+[0-9]{0,4}+(?:[-_./: @,]{1,2}+[A-Za-z]*+[0-9]{0,4}+){0,20}+[.:!?=]{0,2}")
"""Words and names, with small numbers at their ends: paths, versions, dates."""
_WORDS = re.compile(r"[A-Za-z_-]+")
_CODE = re.compile(r"https?:|[()\[\]{}<>|\\ ]|^\^|\.\.|^[./]|%[sd(]|::|&&|\d{4}-\d\d-\d\dT")
"""Text that stands in calls, patterns, addresses, formats and sentences, and in no generated key."""
_TURN = re.compile(r"(?<=[A-Za-z])(?=[0-9])|(?<=[0-9])(?=[A-Za-z])")
"""Where a letter stands beside a digit."""
_CHARACTERS_PER_TURN = 10
"""Keys turn more often than that, names of things once or twice.

Source: measured; of 10,000 random texts of 24 lower-case letters and digits, 9,939 are known by it.
"""
_MIN_BITS = 3.9
"""Shannon entropy for each character above which a long run of letters and digits may be a key.

Source: measured; the lowest of 10,000 random base64 texts of 32 characters has 3.99.
"""
_HEX = re.compile(
    r"(?=.{0,40}[0-9])(?=.{0,40}[a-fA-F])(?:[0-9a-fA-F]{32,128}|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})"
)
_DOTTED = re.compile(r"[A-Za-z_]\w*+(?:\.[A-Za-z_]\w*+)++")
_WORD_RUN = re.compile(r"[a-z]{4,}")
_MAX_SHARE_OF_WORDS = 0.4
"""Of the letters, in runs of four lower-case ones and more; names are made of words, keys are not."""
_TURNS_UNDER_A_CLEAR_NAME = 2
_LEAST_UNDER_A_VAGUE_NAME = 16

_RUN = re.compile(r"[^\s'\"`()\[\]{}<>,;]{8,}")
_UNWORDED = re.compile(
    r"PRIVATE KEY|Private-Lines|://[^\s/]{0,200}@|\bmachine[ \t]|curl"
    r"|(?i:passw|passphrase|pwd|secret|token|key|credential)[^\r\n]{0,200}[!#$%&*+?@~^]"
)
"""Where a secret may stand that is not known by letters beside digits."""

ENCODED = "ENCODED"
"""The kind of a secret that stands encoded in a text."""


@dataclass(frozen=True)
class Secret:
    """A place in a text that no model may see."""

    kind: str
    start: int
    end: int


def find_secrets(text: str) -> tuple[Secret, ...]:
    """Return the secrets in *text*, in order, not overlapping."""
    return in_order(_candidates(text))


def may_hold_secrets(text: str) -> bool:
    """Return whether `find_secrets` may find any in *text*; to look for them takes twice as long."""
    if _UNWORDED.search(text):
        return True
    if any(len(_TURN.findall(run[0])) >= _TURNS_UNDER_A_CLEAR_NAME for run in _RUN.finditer(text)):
        return True
    return _FORM.search(text) is not None  # by chance it may hold no digit


def in_order(places: Iterable[Secret]) -> tuple[Secret, ...]:
    """Return *places* in order, those that overlap as one."""
    found: list[Secret] = []
    for secret in sorted(places, key=lambda one: (one.start, -one.end)):
        if not found or secret.start >= found[-1].end:
            found.append(secret)
        elif ENCODED in (secret.kind, found[-1].kind):
            found[-1] = Secret(ENCODED, found[-1].start, max(secret.end, found[-1].end))
        elif secret.end > found[-1].end:
            found[-1] = replace(found[-1], end=secret.end)
    return tuple(found)


def _candidates(text: str) -> Iterator[Secret]:
    for match in _FORM.finditer(text):
        if not _PLACEHOLDERS.fullmatch(match[0]):
            # No group within a form has a name, so the last group that has one is the form itself.
            yield Secret(match.lastgroup or "SECRET", *match.span())
    for pattern, kind in ((_IN_ADDRESS, "PASSWORD"), (_NETRC, "PASSWORD"), (_IN_COMMAND, "PASSWORD")):
        for match in pattern.finditer(text):
            is_curls = pattern is not _IN_COMMAND or "curl" in text[max(0, match.start() - 300) : match.start()]
            if is_curls and not _PLACEHOLDERS.fullmatch(match["secret"]) and not _WORDS.fullmatch(match["secret"]):
                yield Secret(kind, *match.span("secret"))
    for match in _IN_HEADER.finditer(text):
        if is_generated(match["secret"], _TURNS_UNDER_A_CLEAR_NAME if match["scheme"] else 3):
            yield Secret("CREDENTIAL", *match.span("secret"))
    yield from _bound(text)
    for match in _DENSE.finditer(text):
        look_at_the_clock()
        value = match["secret"]
        if _is_disorderly(value) and not _is_data(text, match):
            yield Secret("KEY", *match.span("secret"))


def _bound(text: str) -> Iterator[Secret]:
    """Yield what is bound to a name that speaks of a secret, where it looks like one."""
    for name in _NAME.finditer(text):
        look_at_the_clock()
        match = _BOUND.match(text, name.end())
        if match is None or _OPENS_NOTHING.search(text[max(0, name.start() - 14) : name.start()]):
            continue
        if match["space"] is not None and not _OPTION.search(text[max(0, name.start() - 24) : name.start()]):
            continue
        group = "quoted" if match["quoted"] is not None else "bare"
        value = match[group]
        if _is_bound_secret(value, is_quoted=group == "quoted", is_named_clearly=name["strong"] is not None):
            yield Secret("SECRET", *match.span(group))


def _is_bound_secret(value: str, *, is_quoted: bool, is_named_clearly: bool) -> bool:
    """Return whether *value* is a secret, given what its name says of it."""
    if not is_quoted and _is_dotted_name(value):
        return False
    if not is_named_clearly:
        return len(value) >= _LEAST_UNDER_A_VAGUE_NAME and is_generated(value)
    if _HEX.fullmatch(value):
        return True
    return is_generated(value, _TURNS_UNDER_A_CLEAR_NAME if is_quoted else 3) or (is_quoted and _is_chosen(value))


def is_generated(value: str, n_turns: int = 3) -> bool:
    """Return whether *value* looks as if a program had made it up: no words, name, path, call or pattern."""
    if _PLACEHOLDERS.fullmatch(value) or _CODE.search(value):
        return False
    found = len(_TURN.findall(value))
    # Under a clear name, what looks like words with numbers is a secret all the same once it turns often enough.
    if _NAMED.fullmatch(value) and not found >= n_turns == _TURNS_UNDER_A_CLEAR_NAME:
        return False
    return found >= max(n_turns, len(value) // _CHARACTERS_PER_TURN)


def _is_dotted_name(value: str) -> bool:
    """Return whether *value* is a name with dots, such as a class in a module, and no token with dots in it."""
    return bool(_DOTTED.fullmatch(value)) and len(_TURN.findall(value)) < len(value) / 6


def _is_disorderly(value: str) -> bool:
    """Return whether *value* looks generated whatever it is bound to."""
    is_mixed = is_generated(value) and _mixes(value, n_classes=3)
    return is_mixed and not _is_made_of_words(value) and bits_per_character(value) >= _MIN_BITS


def _is_chosen(value: str) -> bool:
    """Return whether *value* looks like a password that a person took care to choose."""
    has_sign = any(not one.isalnum() and one in "!#$%&*+?@~^" for one in value)
    is_mixed = any(map(str.isdigit, value)) and any(map(str.isalpha, value))
    return has_sign and is_mixed and not (_PLACEHOLDERS.fullmatch(value) or _CODE.search(value))


def _is_data(text: str, match: re.Match[str]) -> bool:
    """Return whether *match* is bound to a name that hides nothing, or one of several that lie together."""
    begin, end = max(0, match.start() - 300), match.end() + 300
    if _OPENLY.search(text[max(0, match.start() - 40) : match.start("secret")]):
        return True
    return sum(1 for _ in _DENSE.finditer(text, begin, end)) > 1


def _is_made_of_words(value: str) -> bool:
    n_letters = sum(c.isalpha() for c in value)
    return sum(map(len, _WORD_RUN.findall(value))) > _MAX_SHARE_OF_WORDS * max(n_letters, 1)


def _mixes(value: str, n_classes: int = 2) -> bool:
    classes = (str.isupper, str.islower, str.isdigit)
    return sum(any(test(c) for c in value) for test in classes) >= n_classes


def bits_per_character(text: str) -> float:
    """Return the Shannon entropy of the characters of *text*."""
    counts = Counter(text).values()
    return -sum(n / len(text) * math.log2(n / len(text)) for n in counts)
