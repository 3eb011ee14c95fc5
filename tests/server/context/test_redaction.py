"""No secret reaches a model or a log; ordinary code is left as it is.

The secrets are made up (`support.secrets`), at random and in the forms that providers publish.
"""

from __future__ import annotations

import json
import re
import re._parser as parser  # pyright: ignore[reportMissingImports]
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolecall_server.context import secret_forms
from rolecall_server.context.redaction import Covers, unknown_covers
from rolecall_server.context.secret_forms import find_secrets
from support.secrets import FORMS, PLACES, made, placed, telling_part


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", FORMS)
def test_keys_of_published_forms_are_covered_wherever_they_stand(name: str, place: str) -> None:
    for seed in range(3):
        secret = made(name, seed)
        covered = Covers().cover(placed(secret, place))
        assert telling_part(secret) not in covered, covered
        assert covered.count("REDACTED_") == 1


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ('password = "hunter2!x"', "hunter2!x"),
        ("DB_PASSWORD=s3cr3tPa55w\n", "s3cr3tPa55w"),
        ("url: postgres://shop:p4ss-w@db.internal/shop", "p4ss-w"),
        ('{"clientSecret": "abc123-def456-ghi"}', "abc123-def456-ghi"),
        ("Authorization: Bearer 0a1b2c3d4e5f6g7h8i9j", "0a1b2c3d4e5f6g7h8i9j"),
        ("machine api.internal login me password p4ss", "p4ss"),
        ('SECRET_KEY = b"django-5^&x2k#9@1"', "django-5^&x2k#9@1"),
        ('("api_key", "91f3c0ffee91f3c0ffee")', "91f3c0ffee91f3c0ffee"),
        ('os.environ["TOKEN"] = "q7W2e9R4t6Y1"', "q7W2e9R4t6Y1"),
        ('blob = "dGhpcyBpcyBub3QgYSByZWFsIGtleSBidXQgbG9va3M5"', "dGhpcyBpcyBub3QgYSByZWFsIGtleSBidXQgbG9va3M5"),
        ("API_TOKEN ?= 4f7c2a9e1b8d3f60", "4f7c2a9e1b8d3f60"),
        ('var shopToken string = "4f7c2a9e1b8d3f60"', "4f7c2a9e1b8d3f60"),
        ("<shopToken>\n    4f7c2a9e1b8d3f60\n</shopToken>", "4f7c2a9e1b8d3f60"),
        ('{"env": "SHOP_TOKEN=4f7c2a9e1b8d3f60\\nDEBUG=1"}', "4f7c2a9e1b8d3f60"),
        ("shop --api-key 4f7c2a9e1b8d3f60 --fast", "4f7c2a9e1b8d3f60"),
        ("curl -u shop:9dK-2vL+x https://api.internal", "9dK-2vL+x"),
        ("shop_secret: 5eb4223e-5008-46e5-be67-c7b8f2732305", "5eb4223e-5008-46e5-be67-c7b8f2732305"),
    ],
)
def test_a_secret_is_known_by_the_name_it_is_bound_to_or_by_its_disorder(text: str, secret: str) -> None:
    covered = Covers().cover(text)
    assert secret not in covered
    assert "REDACTED_" in covered


@pytest.mark.parametrize(
    "text",
    [
        "password = getpass()",
        "token = tokens[0]",
        'password = "password"',
        'API_KEY = os.environ["API_KEY"]',
        "def login(user, password): ...",
        'token_type = "bearer"',
        "sha256 = '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08'",
        'parser.add_argument("--token", help="the token to send")',
        "class V1OrganizationExternalKeysPostRequestAws: ...",
        "https://docs.example.org/library/reference/build-settings.html#section-12",
        'SECRET = "changeme"',
        "id = '0b6ae6e4-5c6e-4a4f-9f8e-0d5c1f1a2b3c'",
        "    'AUTHORIZATION': tokens.Keyword,",
        "    'COOKIE': tokens.Name.Builtin, 'SET-COOKIE': tokens.Name.Builtin.Pseudo,",
        "def wrap(private_key: x25519.X25519PrivateKey) -> bytes: ...",
        '"CodeSha256": "YFgDgEKG3ugvF1+pX64gV6tu9qNuIYNUdgJm8nCxsm4="',
        "pkg/licence.txt,sha256=kKnI0D2VZyQi9OfGEfttNdGnxf7ZjQMtncV9iWXiOeY,1206",
        '"clientRequestToken": "1d2129a1-3d38-460a-9756-e5b91fddb951"',
        '"PasswordLastUsed": "2016-09-24T16:18:07Z"',
        "broker_url = 'amqp://guest:guest@localhost:5672//'",
        "aws_access_key_id = AKIAIOSFODNN7EXAMPLE",
        'TOKEN = r"[^\\W\\d]\\w*(?:\\.\\w+)*|[0-9]+(?:px|em)"',
        'cache_key = f"{prefix}:v2:{user_id}"',
    ],
)
def test_ordinary_code_is_left_as_it_is(text: str) -> None:
    assert Covers().cover(text) == text


def test_a_certificate_is_nobodys_secret() -> None:
    rows = "\n".join("MIIDdTCCAl2gAwIBAgILBAAAAAABFUtaw5QwDQYJKoZIhvcNAQEFBQAwVzEL" for _ in range(20))
    text = f"-----BEGIN CERTIFICATE-----\n{rows}\n-----END CERTIFICATE-----\n"
    assert Covers().cover(text) == text
    assert "MIID" not in Covers().cover(text.replace("CERTIFICATE", "PRIVATE KEY"))


def test_no_pattern_that_is_looked_for_in_a_text_repeats_without_a_bound() -> None:
    """Then each place in a text is looked at for so many characters at most, however long the line is."""
    for name in SEARCHED:
        pattern: re.Pattern[str] = getattr(secret_forms, name)
        unbounded = [one for one in repeats(parser.parse(pattern.pattern)) if one > 12_000]
        assert unbounded == [], name


SEARCHED = ("_FORM", "_IN_ADDRESS", "_IN_HEADER", "_IN_COMMAND", "_NAME", "_BOUND", "_NETRC", "_DENSE", "_OPTION")


def repeats(tree: Any) -> Iterator[int]:
    """How often at most each part of a parsed pattern repeats."""
    for kind, value in tree:
        match str(kind):
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                yield int(value[1])
                yield from repeats(value[2])
            case "SUBPATTERN":
                yield from repeats(value[3])
            case "BRANCH":
                for branch in value[1]:
                    yield from repeats(branch)
            case "ASSERT" | "ASSERT_NOT":
                yield from repeats(value[1])
            case _:
                pass


@pytest.mark.parametrize(
    "part", ["a", "key=", "eyJ-", "token='", "://a:", "-----BEGIN PRIVATE KEY-----", "curl -u ", "authorization: "]
)
def test_a_line_of_a_million_characters_is_read_to_its_end(part: str) -> None:
    secret = made("GitHub", 3)
    (found,) = find_secrets(part * (1_000_000 // len(part)) + f" {secret} ")[-1:]
    assert found.kind == "GITHUB_TOKEN"


def test_the_words_of_the_standard_library_are_left_as_they_are() -> None:
    n_words, n_found = 0, 0
    for path in sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))[:80]:
        text = path.read_text(encoding="utf-8", errors="replace")
        n_words += len(re.findall(r"[^\W\d]\w*", text))
        n_found += len(find_secrets(text))
    assert n_words > 100_000
    assert n_found <= n_words / 10_000


def test_one_secret_has_one_cover_and_comes_back_where_a_model_repeats_it() -> None:
    secret = made("GitHub", 1)
    covers = Covers()
    shown = covers.cover(f'OLD = "{secret}"\nNEW = "{secret}"\n')
    assert shown.count("REDACTED_GITHUB_TOKEN_1") == 2
    reply = f"<<<<<<< SEARCH\n{shown}=======\n{shown.replace('OLD', 'FIRST')}>>>>>>> REPLACE\n"
    assert covers.uncover(reply).count(secret) == 4
    assert covers.cover(f"again {secret}") == "again REDACTED_GITHUB_TOKEN_1"


def test_a_cover_that_stands_in_the_text_already_is_not_given_to_a_secret() -> None:
    secret = made("GitHub", 2)
    covers = Covers()
    text = f'REDACTED_GITHUB_TOKEN_1 = "{secret}"'
    assert covers.uncover(covers.cover(text)) == text


@given(st.text(max_size=300))
def test_what_is_covered_comes_back_whole(text: str) -> None:
    covers = Covers()
    assert covers.uncover(covers.cover(text)) == text


@pytest.mark.parametrize("spelled", ["redacted_github_token_1", "REDACTED-GITHUB-TOKEN-1", "Redacted GitHub Token 1"])
def test_a_cover_that_a_model_spells_otherwise_comes_back_too(spelled: str) -> None:
    secret = made("GitHub", 3)
    covers = Covers()
    covers.cover(secret)
    assert covers.uncover(f'"{spelled}"') == f'"{secret}"'


@pytest.mark.parametrize("around", ["é{}", "{}_suffix", "br{}", "x='{}5'", "{}\u0660"])
def test_a_secret_beside_any_letter_comes_back(around: str) -> None:
    text = (
        "password = 'hunter2!x' " + around.format(made("AWS access key", 1)) + "\ntoken: " + around.format("x7Qp9zL2m4")
    )
    covers = Covers()
    assert covers.uncover(covers.cover(text)) == text


def test_a_word_of_a_later_text_that_is_a_cover_already_is_itself_covered() -> None:
    secret = made("GitHub", 4)
    covers = Covers()
    assert covers.cover(secret) == "REDACTED_GITHUB_TOKEN_1"
    text = "assert cover(key) == 'REDACTED_GITHUB_TOKEN_1'"
    shown = covers.cover(text)
    assert "REDACTED_GITHUB_TOKEN_1" not in shown
    assert covers.uncover(shown) == text


def test_a_word_that_was_shown_is_given_to_no_secret() -> None:
    covers = Covers()
    text = "the first is REDACTED_GITHUB_TOKEN_1"
    assert covers.cover(text) == text
    assert covers.cover(made("GitHub", 5)) == "REDACTED_GITHUB_TOKEN_2"
    assert covers.uncover(text) == text


def test_in_json_a_secret_comes_back_as_json_has_it() -> None:
    covers = Covers()
    shown = covers.cover(secret := made("private key", 1))
    assert json.loads(covers.uncover(json.dumps({"what": shown}), in_json=True)) == {"what": secret}


def test_a_name_like_a_cover_is_known_only_where_it_was_shown() -> None:
    assert unknown_covers("x = REDACTED_KEY_7", "") == ("REDACTED_KEY_7",)
    assert unknown_covers("x = REDACTED_KEY_7", "y = REDACTED_KEY_7") == ()
    assert unknown_covers("the redacted version 2 of REDACTED_KEY, and redacted_keyring_1", "") == ()
