"""Which files a brief is about, by the words they share."""

from __future__ import annotations

from pathlib import Path

import pytest

from rolecall_analysis import Index
from rolecall_server.context.lexical import rank_files, words
from rolecall_server.workspace import Workspace
from support.fixture import parse_fixture


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("parse_HTMLPage", ["parse", "html", "page"]),
        ("camelCase2 x", ["camel", "case", "2", "x"]),
        ("HTTPServer", ["http", "server"]),
        ("", []),
        ("--- ___ !", []),
    ],
)
def test_identifiers_are_cut_into_their_words(text: str, expected: list[str]) -> None:
    assert words(text) == expected


def ranked(folder: Path, text: str, brief: str, buffers: dict[str, str] | None = None) -> list[str]:
    root = parse_fixture(text).write_to(folder).resolve()
    index = Index(root)
    index.scan()
    return rank_files(Workspace(root, buffers or {}), index.snapshot(), brief)


REPOSITORY = """
    #- mail.py
    def send_mail(address): "mail mail mail"

    #- page.py
    def render_page(template): return template

    #- both.py
    def send_page(address): return address

    #- tests/test_mail.py
    def test_send_mail(): "mail"
"""


def test_the_file_with_the_most_telling_words_comes_first_and_tests_are_left_out(tmp_path: Path) -> None:
    assert ranked(tmp_path, REPOSITORY, "Send the mail") == ["mail.py", "both.py"]


def test_a_rare_word_tells_more_than_a_common_one(tmp_path: Path) -> None:
    text = "\n".join(f"    #- common{i}.py\n    value = 'order order'\n" for i in range(5))
    assert ranked(tmp_path, text + "\n    #- rare.py\n    refund = 1\n", "refund an order")[0] == "rare.py"


def test_a_brief_that_shares_no_word_finds_nothing(tmp_path: Path) -> None:
    assert ranked(tmp_path, REPOSITORY, "quux") == []
    assert ranked(tmp_path, REPOSITORY, "") == []


def test_a_file_that_cannot_be_read_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "latin.py").write_bytes(b"mail = '\xe9'\n")
    assert "latin.py" not in ranked(tmp_path, REPOSITORY, "mail")


def test_unsaved_text_counts(tmp_path: Path) -> None:
    assert ranked(tmp_path, REPOSITORY, "invoice", {"page.py": "invoice = 1\n"}) == ["page.py"]
