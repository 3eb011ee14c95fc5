"""One table of settings: the VS Code client, the documentation and the server agree on it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from rolecall_server.settings import Settings, read_settings, setting_rows

REPOSITORY = Path(__file__).resolve().parents[2]
MANIFEST = Path("client-vscode", "package.json")
TEXTS = Path("client-vscode", "package.nls.json")
PAGE = Path("docs", "settings.md")


def properties() -> dict[str, dict[str, object]]:
    manifest = json.loads((REPOSITORY / MANIFEST).read_text(encoding="utf-8"))
    return manifest["contributes"]["configuration"]["properties"]


def check(root: Path) -> subprocess.CompletedProcess[str]:
    script = REPOSITORY / "scripts" / "generate_client_settings.py"
    command = [sys.executable, str(script), "--check", "--root", str(root)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_client_offers_exactly_the_settings_of_the_table_in_its_order() -> None:
    assert list(properties()) == [row.key for row in setting_rows()]


def test_the_client_shows_each_setting_as_the_table_has_it() -> None:
    texts = json.loads((REPOSITORY / TEXTS).read_text(encoding="utf-8"))
    for row in setting_rows():
        offered = properties()[row.key]
        assert {**row.schema, "default": row.default, "scope": row.scope}.items() <= offered.items()
        assert texts[str(offered["markdownDescription"]).strip("%")].startswith(row.description)


def test_what_the_client_sends_unchanged_is_what_the_server_would_assume_and_without_a_complaint() -> None:
    sent: dict[str, dict[str, object]] = {}
    for key, offered in properties().items():
        _, group, name = key.split(".")
        sent.setdefault(group, {})[name] = offered["default"]
    assert read_settings(sent, {}) == (Settings(), ())


def test_a_setting_that_names_a_program_or_an_address_is_never_taken_from_a_workspace() -> None:
    dangerous = ("interpreter", "baseUrl", "importStrategy", "apiKeyVariable", "replay")
    for key, offered in properties().items():
        if key.endswith(dangerous):
            assert offered["scope"] == "machine", key


def test_the_page_has_a_section_for_each_setting() -> None:
    lines = (REPOSITORY / PAGE).read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if line.startswith("## ")] == [f"## `{row.key}`" for row in setting_rows()]


def test_both_documents_are_as_the_generator_writes_them() -> None:
    checked = check(REPOSITORY)
    assert checked.returncode == 0, checked.stderr


@pytest.mark.parametrize(("document", "word"), [(MANIFEST, "600"), (TEXTS, "seconds"), (PAGE, "600")])
def test_a_document_edited_by_hand_is_noticed(tmp_path: Path, document: Path, word: str) -> None:
    for copied in (MANIFEST, TEXTS, PAGE):
        (tmp_path / copied).parent.mkdir(exist_ok=True)
        shutil.copy(REPOSITORY / copied, tmp_path / copied)
    text = (tmp_path / document).read_text(encoding="utf-8")
    (tmp_path / document).write_text(text.replace(word, "60"), encoding="utf-8")
    checked = check(tmp_path)
    assert checked.returncode == 1
    assert document.name in checked.stderr
