"""Text as terms: identifiers in every style, and English in every form."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolecall_analysis.retrieval.words import code_names, identifiers, neighbours_joined, stem, terms, terms_of


@pytest.mark.parametrize("identifier", ["set_cookie", "SetCookie", "setCookie", "SET_COOKIE", "_set_cookie_"])
def test_a_name_has_the_same_terms_in_every_style(identifier: str):
    assert terms_of(identifier) == ("set", "cooki", "setcookie")


def test_an_acronym_is_one_word():
    assert terms_of("parseHTTPHeader") == ("pars", "http", "head", "parsehttpheader")


@pytest.mark.parametrize(
    "forms",
    [
        ["parse", "parses", "parsed", "parser", "parsing"],
        ["handle", "handler", "handlers", "handling"],
        ["run", "runs", "running", "runner"],
        ["query", "queries"],
        ["class", "classes"],
        ["connect", "connection", "connections", "connected"],
    ],
)
def test_the_forms_of_a_word_are_one_term(forms: list[str]):
    assert len({stem(form) for form in forms}) == 1


def test_words_that_say_nothing_are_no_terms_but_stay_in_names():
    assert terms("this should not be used") == []
    assert terms("not_found") == ["found", "notfound"]


def test_names_in_a_message_are_told_from_its_prose():
    message = "Let `flush` call Store.save_all when close() fails for HTTPServer, says the Author"
    assert code_names(message) == {"flush", "Store", "save_all", "close", "HTTPServer"}


def test_two_words_side_by_side_are_also_one():
    assert neighbours_joined("the web socket closes") == ["theweb", "websocket", "socketcloses"]


@given(st.text())
def test_any_text_has_terms_and_they_are_found_again(text: str):
    assert terms(text) == [term for identifier in identifiers(text) for term in terms_of(identifier)]
    assert all(term and term == term.lower() for term in terms(text))


@given(st.text(alphabet=st.characters(categories=["Ll", "Lu"]), min_size=1, max_size=30))
def test_a_stem_is_never_empty_and_never_longer(word: str):
    assert 0 < len(stem(word)) <= len(word) + 1
