"""The addresses of proposals as documents, and the run that is meant where none is named."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolecall_server.errors import NotFound
from rolecall_server.lsp.proposals.shown import Address, find_run, read_address
from rolecall_server.lsp.session import Session
from support.stores import open_store

paths = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1)


@given(st.builds(Address, st.integers(1, 10**6).map("p{}".format), st.just(""), st.just("") | paths))
def test_an_address_is_read_back_from_its_uri(address: Address) -> None:
    assert read_address(address.uri) == address
    assert urlsplit(address.uri).scheme == "rolecall-proposal"
    assert address.file_name.startswith(address.proposal_id)
    assert "/" not in address.file_name


def test_a_hunk_and_a_file_of_that_name_are_told_apart() -> None:
    assert read_address("rolecall-proposal:/p7/h2.diff") == Address("p7", "h2")
    assert read_address("rolecall-proposal:/p7/files/h2.diff") == Address("p7", path="h2")
    assert read_address("rolecall-proposal:///p7.diff") == Address("p7"), "as some editors write it"


@pytest.mark.parametrize("uri", ["rolecall-proposal:/p7", "rolecall-proposal:/x.diff", "file:///p7.diff", ""])
def test_what_is_no_address_is_not_found(uri: str) -> None:
    with pytest.raises(NotFound):
        read_address(uri)


async def test_the_latest_run_is_the_one_that_was_begun_last_whatever_the_clock_said(tmp_path: Path) -> None:
    session = Session(open_store(tmp_path / "rolecall.db"))
    session.open_folder(tmp_path)
    first, last = (session.store.add_run(tmp_path, "engineer", "", brief) for brief in ("first", "last"))
    with session.store.connection as connection:
        connection.execute("UPDATE run SET started_at = started_at + 3600 WHERE brief = 'first'")
    assert find_run(session).id == last
    assert find_run(session, first).brief == "first"
