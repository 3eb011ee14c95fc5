"""The forms that plain values have: an address on the web, a date, JSON. A name, or the function that reads it, tells.

``urlsplit(target)`` tells that *target* is a URL, and so does ``base_url``. Forms are named as types are, and their
values are expressions.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping

FORMS: Mapping[str, tuple[str, ...]] = {
    "url": (
        "'https://example.com/a/b.html?x=1&y=2#c'",
        "'http://user:pw@localhost:8080/'",
        "'/a/b'",
        "'ftp://example.com'",
        "'example.com'",
    ),
    "email": ("'a@example.com'", "'Ann Lee <ann.lee+x@mail.example.org>'", "'a@'"),
    "xml": (
        "'<a>b</a>'",
        '\'<a><b c="1">d</b><b c="2">e</b></a>\'',
        '\'<?xml version="1.0"?><a xmlns="urn:x"><b/></a>\'',
    ),
    "html": (
        "'<p>a</p>'",
        '\'<html><body><p class="b">c &amp; <a href="/d">e</a></p><br></body></html>\'',
        "'a &lt; b'",
    ),
    "json": ("'{\"a\": 1}'", "'[1, 2.5, \"b\", null, true]'", "'{}'", "'\"a\"'", '\'{"a": {"b": [1]}}\'', "'{'"),
    "yaml": ("'a: 1\\nb:\\n  - c\\n'", "'- 1\\n- 2\\n'", "'a'"),
    "toml": ("'a = 1\\n[b]\\nc = \"d\"\\n'", "''"),
    "ini": ("'[a]\\nb = 1\\n'", "''"),
    "csv": ("'a,b\\n1,2\\n'", "'a;b\\n'"),
    "markdown": ("'# a\\n\\nb *c*\\n\\n- d\\n- e\\n'", "'[a](b.md)'", "'```python\\nx = 1\\n```\\n'"),
    "python": (
        "'x = 1\\n'",
        "'def f(a, b=2):\\n    return a + b\\n'",
        "'class A:\\n    pass\\n'",
        "'import os\\n'",
        "'1 + 2'",
        "'x ='",
    ),
    "encoding": ("'utf-8'", "'ascii'", "'latin-1'", "'no-such'"),
    "zone": ("'UTC'", "'Europe/Berlin'", "'America/New_York'"),
    "language": ("'en'", "'en_US'", "'de-AT'", "'zh_Hant'"),
    "country": ("'DE'", "'US'", "'DEU'", "'Germany'"),
    "moment": (
        "'2024-02-29'",
        "'2024-02-29T12:30:45'",
        "'2024-02-29T12:30:45.123456+02:00'",
        "'1999-12-31 23:59:59'",
        "'2024-02-29T12:30:45Z'",
        "'12:30'",
    ),
    "duration": ("'1h'", "'10s'", "'1d 2h'", "'90'", "'P1DT2H'"),
    "ip": ("'127.0.0.1'", "'::1'", "'10.0.0.0/8'", "'256.0.0.1'"),
    "host": ("'example.com'", "'localhost:8080'", "'127.0.0.1'", "'[::1]:80'"),
    "port": ("80", "443", "8080", "0"),
    "status": ("200", "404", "500", "301", "201"),
    "version": ("'1.2.3'", "'1.0'", "'2.0.0rc1'", "'1.2.3-alpha.1+build.5'", "'1'"),
    "color": ("'red'", "'#ff0000'", "'#f00'", "'rgb(255, 0, 0)'"),
    "uuid": ("'12345678-1234-5678-1234-567812345678'", "'123'"),
    "hexadecimal": ("'00ff'", "'deadbeef'", "'0x1f'", "'0'"),
    "base64": ("'YWJj'", "'YQ=='", "'_-8'"),
    "module": ("'json'", "'os.path'", "'json.decoder.JSONDecoder'", "'json:loads'", "'missing_module'"),
    "command": ("'echo a'", "\"ls -l 'a b'\"", "''"),
    "verb": ("'GET'", "'POST'", "'get'"),
    "media": ("'application/json'", "'text/html; charset=utf-8'", "'image/png'"),
    "headers": (
        "{'Content-Type': 'application/json'}",
        "{}",
        "{'content-type': 'text/html; charset=utf-8', 'Content-Length': '3'}",
    ),
    "decimal": ("'1.5'", "'-2'", "'1e3'", "'1,234.50'", "'12'"),
    "level": ("'INFO'", "'debug'", "10"),
}
"""Expressions of each form, the most usual first."""

_BY_NAME = (
    ("url", r"(.*_)?(url|uri|href|link|endpoint|iri)(_?str(ing)?)?"),
    ("email", r"(.*_)?(e_?mail)(_?addr(ess)?)?"),
    ("xml", r"(.*_)?xml(_?(str(ing)?|text|data|doc))?"),
    ("html", r"(.*_)?(html|markup)(_?(str(ing)?|text|doc))?"),
    ("json", r"(.*_)?json_?(str(ing)?|text|data|body)"),
    ("yaml", r"(.*_)?ya?ml(_?(str(ing)?|text))?"),
    ("markdown", r"(.*_)?(markdown|md)(_?text)?"),
    ("csv", r"csv(_?(str(ing)?|text|data))?"),
    ("python", r"(source|src|code|program|expr|expression|stmt|statement|snippet|python)(_?(code|text|str(ing)?))?"),
    ("encoding", r"(.*_)?(encoding|charset|codec)"),
    ("zone", r"tz|tz_?name|(.*_)?time_?zone(_?name)?|zone(_?name)?"),
    ("language", r"(.*_)?(lang|language|locale)(_?(code|tag))?"),
    ("country", r"country(_?code)?|alpha_?2|territory"),
    ("moment", r"(date|date_?time|time|timestamp)_?(str(ing)?|text)|iso_?.*|.*_iso|when"),
    ("duration", r"(duration|interval|period|delta|timespan)(_?(str(ing)?|text))?"),
    ("ip", r"(.*_)?ip(_?addr(ess)?)?|cidr"),
    ("host", r"(.*_)?(host|host_?name|domain|netloc|server)(_?name)?"),
    ("port", r"(.*_)?port"),
    ("status", r"(.*_)?status(_?code)?"),
    ("version", r"(.*_)?(version|ver)(_?str(ing)?)?"),
    ("color", r"(.*_)?(colou?r|fg|bg)"),
    ("uuid", r"(.*_)?(uuid|guid)"),
    ("hexadecimal", r"(.*_)?hex(_?str(ing)?)?|digest"),
    ("base64", r"(.*_)?(b64|base64)(_.*)?"),
    ("module", r"(module|package)(_?(name|path))?|dotted_?(name|path)|import_?(name|path|str(ing)?)"),
    ("command", r"(cmd|command)(_?(line|str(ing)?))?"),
    ("verb", r"(http_?|request_?)?(method|verb)"),
    ("media", r"(content|media|mime)_?type"),
    ("headers", r"(.*_)?headers"),
    ("level", r"(log_?|logging_?)level"),
)
_READ_BY: Mapping[str, tuple[str, ...]] = {
    "url": ("urlparse", "urlsplit", "urlopen", "url2pathname"),
    "email": ("parseaddr", "message_from_string"),
    "xml": ("parseString", "fromstring", "XML", "XMLPullParser", "feed"),
    "json": ("json.loads", "simplejson.loads", "orjson.loads", "JSONDecoder.decode"),
    "yaml": ("safe_load", "yaml.load", "full_load"),
    "toml": ("tomllib.loads", "tomli.loads", "toml.loads", "tomlkit.parse"),
    "ini": ("read_string",),
    "python": ("ast.parse", "literal_eval", "compile", "exec", "eval", "generate_tokens"),
    "encoding": ("codecs.lookup", "getincrementaldecoder"),
    "zone": ("ZoneInfo", "pytz.timezone", "gettz"),
    "moment": ("fromisoformat", "strptime", "isoparse", "parsedate_to_datetime", "parsedate"),
    "ip": ("ip_address", "ip_network", "IPv4Address", "IPv4Network", "inet_aton", "inet_pton"),
    "uuid": ("UUID",),
    "hexadecimal": ("unhexlify", "fromhex"),
    "base64": ("b64decode", "urlsafe_b64decode", "standard_b64decode", "a2b_base64"),
    "module": ("import_module", "find_spec", "__import__"),
    "command": ("shlex.split",),
    "decimal": ("Decimal", "Fraction"),
    "level": ("getLevelName", "setLevel"),
}
"""The functions that read a text of each form: the last name, or the last two where others have that one too."""
_BUILTIN = ("compile", "exec", "eval", "__import__")
_FORM_READ = {name: form for form, names in _READ_BY.items() for name in names}


def forms_by_name(name: str) -> list[str]:
    """Return the forms that something called *name* likely has."""
    # As words: `xmlString` is `xml_string`.
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
    return [form for form, names in _BY_NAME if re.fullmatch(names, words)]


def form_read_by(function: ast.expr, imported: Mapping[str, str]) -> str:
    """Return the form of the text that a *function* takes first; empty where that is not known. *imported* are dotted
    names by the names that stand for them.
    """
    first, *rest = ast.unparse(function).split(".")
    parts = [*imported.get(first, first).split("."), *rest]
    if parts[-1] in _BUILTIN and len(parts) > 1:  # such as `re.compile`
        return ""
    return _FORM_READ.get(".".join(parts[-2:]), "") or _FORM_READ.get(parts[-1], "")
