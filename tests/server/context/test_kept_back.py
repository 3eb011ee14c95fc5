"""What code that runs for a model sees of a workspace: private files are gone, secrets wear masks."""

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rolecall_server.context.encoded import find_encoded
from rolecall_server.context.kept_back import find_kept_back, mask_of
from rolecall_server.context.redaction import Covers, find_secrets, may_hold_secrets
from rolecall_server.workspace import Workspace, why_private
from support.secrets import FORMS, made
from support.workspaces import write_workspace

KEY = "AKIAIOSFODNN7CANARY1"
FILES = {
    ".aiignore": "private/\n*.csv\n",
    ".env": "DB_PASSWORD=hunter2-CANARY-x9Z\n",
    ".env.example": "DB_PASSWORD=change-me\n",
    "private/notes.txt": "AIIGNORED-NOTES-CANARY\n",
    "private/deep/more.txt": "more\n",
    "shop/data.csv": "1,2\n",
    "shop/keys.py": f'AWS = "{KEY}"\n',
    "shop/price.py": "def total(items):\n    return sum(items)\n",
    "shop/__pycache__/keys.pyc": KEY,
    "tests/apps/.env": "FOO=bar\n",
    "tests/data/some.csv": "3,4\n",
    "tests/test_keys.py": f'FIXTURE = "{KEY[:-1]}2"\n',
    ".git/config": "[core]\n",
}


def workspace(folder: Path) -> Workspace:
    return Workspace(write_workspace(folder / "shop", FILES).resolve())


def test_private_files_and_the_history_are_gone_folders_as_a_whole(tmp_path: Path) -> None:
    kept = find_kept_back(workspace(tmp_path))
    assert kept.gone == (".env", ".git", "private", "shop/data.csv", "tests/data/some.csv")
    (note,) = kept.notes
    assert note.startswith(
        "Tests ran without .env, private, shop/data.csv and 1 more and with masks for the secrets in shop/keys.py,"
    )


def test_secrets_wear_masks_outside_of_tests(tmp_path: Path) -> None:
    kept = find_kept_back(workspace(tmp_path))
    assert list(kept.texts) == ["shop/keys.py"]
    masked = kept.texts["shop/keys.py"]
    assert KEY not in masked
    names: dict[str, str] = {}
    exec(masked, names)
    assert len(names["AWS"]) == len(KEY)
    assert names["AWS"].startswith("AKIA")


def test_what_an_editor_holds_unsaved_is_masked_as_it_is_there(tmp_path: Path) -> None:
    base = workspace(tmp_path)
    typed = f"import os\nAWS = '{KEY}'\n"
    kept = find_kept_back(Workspace(base.root, {"shop/keys.py": typed, "shop/new.py": typed}))
    assert kept.texts == {path: kept.mask(typed) for path in ("shop/keys.py", "shop/new.py")}


def test_a_mask_is_covered_as_the_secret_it_stands_for(tmp_path: Path) -> None:
    kept = find_kept_back(workspace(tmp_path))
    covers = kept.covers()
    shown = covers.cover(f'AWS = "{KEY}"')
    assert covers.cover(f"AssertionError: {kept.masks[KEY]}").removeprefix("AssertionError: ") in shown
    assert covers.uncover(shown) == f'AWS = "{KEY}"'


@given(st.integers(0, 10_000), st.sampled_from(sorted(FORMS)), st.integers(0, 10))
def test_a_mask_has_the_length_and_the_kinds_of_characters_and_not_the_secret(
    seed: int, form: str, number: int
) -> None:
    secret = made(form, seed)
    mask = mask_of(secret, number)
    assert [(c.isdigit(), c.isupper(), c.islower()) for c in mask] == [
        (c.isdigit(), c.isupper(), c.islower()) for c in secret
    ]
    assert [c for c in mask if not c.isalnum()] == [c for c in secret if not c.isalnum()]
    assert mask != secret


@given(st.integers(0, 10_000), st.sampled_from(sorted(FORMS)))
@example(342, "AWS access key")  # which has letters alone
def test_no_file_with_a_secret_is_passed_over(seed: int, form: str) -> None:
    text = f"value = '{made(form, seed)}'\n"
    assert may_hold_secrets(text) or not find_secrets(text)


@pytest.mark.parametrize(
    "text",
    ["password = 'correct!horse9'", "curl -u me:Pa55!word https://a.b", "https://me:p.w-d!@host/"],
)
def test_nor_one_with_a_chosen_password(text: str) -> None:
    assert may_hold_secrets(text)


@pytest.mark.parametrize(
    ("name", "is_kept"),
    [
        (".env", True),
        ("prod.env", True),
        ("deploy/.env.local", True),
        (".envrc", True),
        (".netrc", True),
        ("secrets.toml", True),
        (".ENV", True),
        (".env.example", False),
        ("sample.env", False),
        ("env.py", False),
        ("shop/environment.py", False),
        ("secrets.py", False),
    ],
)
def test_files_named_for_secrets_are_kept_from_models(name: str, is_kept: bool, tmp_path: Path) -> None:
    assert (why_private(Workspace(tmp_path), name) is not None) is is_kept


SECRET = "hunter2-CANARY-x9Z"
WAYS: dict[str, Callable[[str], str]] = {
    "hexadecimal digits": lambda text: text.encode().hex(),
    "capital ones": lambda text: text.encode().hex().upper(),
    "hexadecimal digits with spaces": lambda text: text.encode().hex(" "),
    "escapes": lambda text: "".join(f"\\x{byte:02x}" for byte in text.encode()),
    "hexadecimal numbers": lambda text: ", ".join(f"0x{byte:02x}" for byte in text.encode()),
    "hexadecimal digits in lines": lambda text: "\n".join([text.encode().hex()[:11], text.encode().hex()[11:]]),
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "base64 of addresses": lambda text: base64.urlsafe_b64encode(b"\xff\xfe" + text.encode()).decode(),
    "base64 in lines": lambda text: base64.encodebytes((text * 4).encode()).decode(),
    "backwards": lambda text: text[::-1],
    "backwards in base64": lambda text: base64.b64encode(text[::-1].encode()).decode(),
    "in pieces": "-".join,
    "as a list": lambda text: repr(list(text)),
    "numbers": lambda text: repr(list(text.encode())),
}


@pytest.mark.parametrize("way", WAYS)
@given(before=st.text(max_size=40), after=st.text(max_size=40))
def test_a_secret_is_found_however_it_is_encoded(way: str, before: str, after: str) -> None:
    before, after = f"{before} E   assert '", f"' == 1 {after}"
    told = f"{before}{WAYS[way](SECRET)}{after}"
    covered = Covers(watched=(SECRET,)).cover(told)
    assert "REDACTED_ENCODED_1" in covered
    assert not find_encoded(covered, (SECRET,))


@pytest.mark.parametrize("way", WAYS)
def test_control_another_text_so_encoded_is_none(way: str) -> None:
    told = f"E   assert '{WAYS[way]('an ordinary sentence')}' == 1"
    assert find_encoded(told, (SECRET,)) == ()
    assert find_encoded(f"as it is: {SECRET}", (SECRET,)) == ()


@pytest.mark.parametrize("told", ["DEBUG_MODE = true", "debug: DEBUG MODE: 'true'", "DEBUG_MODE=true"])
def test_words_of_a_hidden_file_with_other_signs_in_between_are_no_code(told: str) -> None:
    assert find_encoded(told, ("DEBUG_MODE=true",)) == ()
    assert find_encoded("-".join(told), (told,)) != ()
