"""Files in encodings of their own: what is read is written back byte for byte, or refused."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolecall_server.errors import FileRefused
from rolecall_server.workspace import TextFile, decode, encode, new_file

LATIN = "# -*- coding: latin-1 -*-\nNAME = 'é'\n"
ENCODINGS = {"utf-8": "", "latin-1": "latin-1", "cp1252": "cp1252", "koi8-r": "koi8_r", "shift_jis": "shift_jis"}


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"x = 1\n", TextFile("a.py", "x = 1\n")),
        (b"\xef\xbb\xbfx = 1\n", TextFile("a.py", "x = 1\n", has_bom=True)),
        (LATIN.encode("latin-1"), TextFile("a.py", LATIN, encoding="iso8859-1")),
        (b"#!/bin/python\n" + LATIN.encode("latin-1"), TextFile("a.py", "#!/bin/python\n" + LATIN, False, "iso8859-1")),
        (b"\xff\xfe" + "é\n".encode("utf-16-le"), TextFile("a.py", "é\n", True, "utf-16-le")),
        (b"\xfe\xff" + "𝄞\n".encode("utf-16-be"), TextFile("a.py", "𝄞\n", True, "utf-16-be")),
        (b"\xef\xbb\xbf# coding: utf-8\n", TextFile("a.py", "# coding: utf-8\n", has_bom=True)),
        (b"x = 1\n" + LATIN.encode("utf-8"), TextFile("a.py", "x = 1\n" + LATIN)),
    ],
    ids=["plain", "marked", "declared", "on line 2", "UTF-16", "UTF-16 big", "both", "declared below code"],
)
def test_a_file_is_read_in_the_encoding_it_names_and_written_back_as_it_was(content: bytes, expected: TextFile) -> None:
    file = decode("a.py", content)
    assert file == expected
    assert encode(file) == content


def test_only_python_files_declare_their_encoding() -> None:
    with pytest.raises(FileRefused, match="not UTF-8"):
        decode("notes.txt", LATIN.encode("latin-1"))


@given(st.sampled_from(sorted(ENCODINGS)), st.text(), st.sampled_from(["\n", "\r\n", "\r"]))
def test_any_text_comes_back_or_is_refused_before_it_is_bytes(encoding: str, body: str, ending: str) -> None:
    cookie = f"# coding: {encoding}{ending}" if encoding != "utf-8" else ""
    try:
        content = encode(new_file("a.py", cookie + body))
    except FileRefused:
        return
    assert decode("a.py", content).text == (cookie + body).removeprefix("\ufeff")


@given(st.binary())
def test_any_bytes_are_text_that_is_written_back_as_it_was_or_refused(content: bytes) -> None:
    try:
        file = decode("a.py", content)
    except FileRefused:
        return
    assert encode(file) == content


def test_a_character_that_the_encoding_lacks_is_refused_by_name_and_line() -> None:
    file = decode("a.py", LATIN.encode("latin-1"))
    with pytest.raises(FileRefused, match=r"iso8859-1, which has no U\+03BB GREEK SMALL LETTER LAMDA \(line 3\)"):
        encode(replace(file, text=file.text + "λ = 1\n"))


@pytest.mark.parametrize("cookie", ["# coding: utf-8", ""])
def test_a_text_that_would_be_read_in_another_encoding_is_refused(cookie: str) -> None:
    file = decode("a.py", LATIN.encode("latin-1"))
    with pytest.raises(FileRefused, match="would say that it is something else"):
        encode(replace(file, text=f"{cookie}\nNAME = 'é'\n"))


def test_a_declaration_may_change_where_every_character_stays_the_same() -> None:
    file = decode("a.py", b"# coding: latin-1\nNAME = 'e'\n")
    assert encode(replace(file, text="# coding: utf-8\nNAME = 'e'\n")) == b"# coding: utf-8\nNAME = 'e'\n"


@pytest.mark.parametrize("name", ["klingon", "utf-16", "rot13", "base64", "cp037"])
def test_an_encoding_that_cannot_be_is_refused(name: str) -> None:
    with pytest.raises(FileRefused, match=f"declares the encoding '{name}', which cannot be"):
        decode("a.py", f"# coding: {name}\nx = 1\n".encode())


def test_an_encoding_that_does_not_give_the_same_bytes_back_is_refused() -> None:
    with pytest.raises(FileRefused, match="cannot be written back as it is: iso2022_jp"):
        decode("a.py", b"# coding: iso-2022-jp\n\x1b(B\n")
