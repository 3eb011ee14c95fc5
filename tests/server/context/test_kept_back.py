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
from rolecall_server.context.redaction import Covers
from rolecall_server.context.secret_forms import find_secrets, may_hold_secrets
from rolecall_server.workspace import Workspace, why_private
from support.pipes import pipe_at
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


@pytest.mark.parametrize("path", [".aiignore", "shop/zz.py", "data.csv"])
def test_a_pipe_is_not_read_for_it_keeps_a_reader_for_ever(tmp_path: Path, path: str) -> None:
    place = Workspace(write_workspace(tmp_path, {"shop/keys.py": f'AWS = "{KEY}"\n'}))
    with pipe_at(tmp_path / path) as was_opened:
        assert list(find_kept_back(place).texts) == ["shop/keys.py"]
        assert why_private(place, "shop/keys.py") is None
        assert not was_opened.is_set()


def test_a_link_is_as_private_as_what_it_leads_to(tmp_path: Path) -> None:
    place = workspace(tmp_path)
    for link, target in (("seen.txt", ".env"), ("more.txt", "private/notes.txt"), ("open", "private")):
        (place.root / link).symlink_to(target)
    for path in ("seen.txt", "more.txt", "open/notes.txt"):
        assert why_private(place, path) is not None
    (place.root / "price.txt").symlink_to("shop/price.py")
    assert why_private(place, "price.txt") is None


def test_what_an_editor_holds_unsaved_is_masked_as_it_is_there(tmp_path: Path) -> None:
    base = workspace(tmp_path)
    typed = f"import os\nAWS = '{KEY}'\n"
    kept = find_kept_back(Workspace(base.root, {"shop/keys.py": typed, "shop/new.py": typed}))
    assert kept.texts == {path: kept.mask(typed) for path in ("shop/keys.py", "shop/new.py")}


def test_of_thousands_of_files_each_with_a_secret_is_found_and_each_private_one_is_gone(tmp_path: Path) -> None:
    root = write_workspace(tmp_path / "shop", {".aiignore": "*.csv\n"}).resolve()
    for number in range(3_000):
        place = root / f"many{number % 30}" / f"f{number}.py"
        place.parent.mkdir(exist_ok=True)
        place.write_text(f'AWS = "{KEY[:-4]}{number:04}"\n' if number % 100 == 7 else "" if number % 2 else "x = 1\n")
        if number % 500 == 0:
            place.with_suffix(".csv").touch()
    kept = find_kept_back(Workspace(root))
    assert sorted(kept.texts) == sorted(f"many{number % 30}/f{number}.py" for number in range(7, 3_000, 100))
    assert kept.gone == tuple(sorted(f"many{number % 30}/f{number}.csv" for number in range(0, 3_000, 500)))


def test_a_mask_is_covered_as_the_secret_it_stands_for(tmp_path: Path) -> None:
    kept = find_kept_back(workspace(tmp_path))
    covers = kept.covers()
    shown = covers.cover(f'AWS = "{KEY}"')
    assert covers.cover(f"AssertionError: {kept.masks[KEY]}").removeprefix("AssertionError: ") in shown
    assert covers.uncover(shown) == f'AWS = "{KEY}"'


def test_a_secret_is_covered_where_nothing_beside_it_says_that_it_is_one(tmp_path: Path) -> None:
    root = write_workspace(tmp_path / "shop", {"config.py": 'PASSWORD = "correct!horse9"\n'})
    kept = find_kept_back(Workspace(root))
    (mask,) = kept.masks.values()
    for printed in (f"E   AssertionError: {mask}", "E   AssertionError: correct!horse9"):
        assert kept.covers().cover(printed) == "E   AssertionError: REDACTED_SECRET_1"
    assert Covers().cover(printed) == printed  # control: by itself it looks like any other word


@pytest.mark.parametrize("path", ["tests/test_login.py", "tests/.env", "fixtures/users.json"])
def test_a_secret_among_tests_is_there_and_covered_in_what_is_told(path: str, tmp_path: Path) -> None:
    root = write_workspace(tmp_path / "shop", {path: 'PASSWORD = "correct!horse9"\n'})
    kept = find_kept_back(Workspace(root))
    assert (kept.gone, kept.texts, kept.watched) == ((), {}, ())
    covers = kept.covers()
    assert covers.cover("E   login('me', 'correct!horse9')") == "E   login('me', 'REDACTED_SECRET_1')"
    told = b"correct!horse9".hex()
    assert told not in covers.cover(f"E   {told}")
    assert not covers.gives_away(told)  # tests may encode what is made for them


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


@pytest.mark.parametrize("n_before", [0, 1, 2])
def test_base64_that_ends_a_text_is_found_to_its_last_character(n_before: int) -> None:
    told = base64.b64encode(f"{'x' * n_before}{SECRET}".encode()).decode()
    assert find_encoded(told, (SECRET,))
    assert find_encoded(told.rstrip("="), (SECRET,))


@pytest.mark.parametrize("way", WAYS)
def test_control_another_text_so_encoded_is_none(way: str) -> None:
    told = f"E   assert '{WAYS[way]('an ordinary sentence')}' == 1"
    assert find_encoded(told, (SECRET,)) == ()
    assert find_encoded(f"as it is: {SECRET}", (SECRET,)) == ()


@pytest.mark.parametrize("told", ["DEBUG_MODE = true", "debug: DEBUG MODE: 'true'", "DEBUG_MODE=true"])
def test_words_of_a_hidden_file_with_other_signs_in_between_are_no_code(told: str) -> None:
    assert find_encoded(told, ("DEBUG_MODE=true",)) == ()
    assert find_encoded("-".join(told), (told,)) != ()
