"""Documents in the store: versions are added, nothing is ever overwritten."""

from __future__ import annotations

from pathlib import Path

import pytest

from rolecall_server.errors import NotFound
from rolecall_server.store import Store
from rolecall_server.team.documents import Fact, Handover, Kind, Understanding
from rolecall_server.team.documents.document_store import documents_in, documents_of, load_document, publish, revise
from support.stores import open_store

ROOT = Path("/repository")
FIRST = Understanding(title="Shop", facts=(Fact(topic="What it is", text="A shop."),))
SECOND = Understanding(title="Shop", facts=(), corrections=("It is a library.",))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(tmp_path / "rolecall.db")


@pytest.fixture
def run_id(store: Store) -> str:
    return store.add_run(ROOT, "team", "", "a brief")


def test_a_document_comes_back_with_who_wrote_it_and_because_of_what(store: Store, run_id: str):
    published = publish(store, run_id, "Product Manager", FIRST, ["m1", "m2"])
    assert load_document(store, published.id) == published
    assert (published.kind, published.version, published.author, published.because, published.content) == (
        Kind.UNDERSTANDING,
        1,
        "Product Manager",
        ("m1", "m2"),
        FIRST,
    )


def test_a_revision_is_another_version_of_the_same_document_and_the_first_one_stays(store: Store, run_id: str):
    first = publish(store, run_id, "Product Manager", FIRST)
    second = revise(store, first.id, "developer", SECOND, ["m3"])
    assert (second.id, second.version, second.author) == (first.id, 2, "developer")
    assert load_document(store, first.id) == second
    assert load_document(store, first.id, 1) == first


def test_a_revision_that_says_the_same_is_none(store: Store, run_id: str):
    first = publish(store, run_id, "Product Manager", FIRST)
    assert revise(store, first.id, "developer", FIRST) == first


def test_a_revision_does_not_change_what_kind_of_document_it_is(store: Store, run_id: str):
    first = publish(store, run_id, "Product Manager", FIRST)
    with pytest.raises(ValueError, match="of the kind understanding, not handover"):
        revise(store, first.id, "developer", Handover(title="Done"))


def test_a_run_has_the_latest_versions_of_its_documents_and_no_others(store: Store, run_id: str):
    first = publish(store, run_id, "Product Manager", FIRST)
    handover = publish(store, run_id, "Engineer", Handover(title="Done"))
    second = revise(store, first.id, "developer", SECOND)
    other_run = store.add_run(ROOT, "team", "", "another brief")
    other = publish(store, other_run, "Product Manager", FIRST)
    elsewhere = store.add_run(Path("/elsewhere"), "team", "", "a third")
    publish(store, elsewhere, "Product Manager", FIRST)
    assert documents_of(store, run_id) == (second, handover)
    assert documents_in(store, ROOT) == {run_id: (second, handover), other_run: (other,)}


def test_documents_are_still_there_when_the_store_is_opened_again(store: Store, run_id: str):
    published = publish(store, run_id, "Product Manager", FIRST)
    assert load_document(open_store(store.path), published.id) == published


@pytest.mark.parametrize(("document_id", "version"), [("d9", None), ("d1", 7), ("nonsense", None)])
def test_what_is_not_there_is_said_to_be_missing(store: Store, run_id: str, document_id: str, version: int | None):
    publish(store, run_id, "Product Manager", FIRST)
    with pytest.raises(NotFound):
        load_document(store, document_id, version)
