"""Which files a text is about: each kind of evidence, alone where that can be arranged."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rolecall_analysis import Index, Position, Snapshot
from rolecall_analysis.retrieval.corpus import Corpus
from rolecall_analysis.retrieval.question import Query
from rolecall_analysis.retrieval.ranking import Ranked, rank
from rolecall_analysis.retrieval.serve import IndexCache, rank_request
from support.workspaces import write_workspace

SHOP = {
    "shop/__init__.py": "",
    "shop/price.py": "def total(items):\n    return sum(items)\n\n\ndef round_to_cents(x):\n    return x\n",
    "shop/cart.py": "from shop.price import total\n\n\ndef checkout(cart):\n    return total(cart)\n",
    "shop/mail.py": "def send(letter):\n    # deliver the receipt by post\n    return letter\n",
    "shop/web/__init__.py": "",
    "shop/web/views.py": "from shop.cart import checkout\n\n\ndef show(request):\n    return checkout(request)\n",
    "tests/test_price.py": "from shop.price import total\n\n\ndef test_total():\n    assert total([]) == 0\n",
}


def ranked(root: Path, query: Query) -> tuple[Ranked, ...]:
    index = Index(root)
    index.scan()
    return rank(Corpus(index.root), index.snapshot(), query)


def paths(found: Sequence[Ranked]) -> list[str]:
    return [one.path for one in found]


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return write_workspace(tmp_path / "shop", SHOP)


def test_threads_that_share_a_corpus_get_what_each_would_get_alone(shop: Path) -> None:
    index = Index(shop)
    index.scan()
    before = index.snapshot()
    after = before.with_changes({"shop/mail.py": None, "shop/post.py": "def send(receipt):\n    return receipt\n"})
    corpus = Corpus(index.root)
    queries = [(snapshot, Query("send the receipt")) for snapshot in (before, after)] * 20
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda each: rank(corpus, *each), queries))
    alone = [rank(Corpus(index.root), *each) for each in queries[:2]]
    assert paths(alone[0])[0] == "shop/mail.py"
    assert paths(alone[1])[0] == "shop/post.py"
    assert found == alone * 20


def commit(root: Path, message: str, *files: str) -> None:
    identity = {f"GIT_{who}_{what}": "a@b.c" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | identity
    for path in files:
        with (root / path).open("a", encoding="utf-8") as stream:
            stream.write("#\n")
    for command in (["init", "--quiet"], ["add", *files], ["commit", "--quiet", "--no-gpg-sign", "-m", message]):
        subprocess.run(["git", "-C", str(root), *command], env=environment, check=True, capture_output=True)


def test_a_word_of_a_comment_finds_its_file(shop: Path):
    assert paths(ranked(shop, Query("receipts")))[0] == "shop/mail.py"


def test_a_name_is_found_in_prose_in_another_style_and_form(shop: Path):
    assert paths(ranked(shop, Query("Rounding to cents is wrong")))[0] == "shop/price.py"


def test_a_file_is_found_by_its_name(shop: Path):
    assert paths(ranked(shop, Query("views")))[0] == "shop/web/views.py"


def test_tests_are_not_answered_unless_they_are_candidates(shop: Path):
    assert "tests/test_price.py" not in paths(ranked(shop, Query("total price")))
    asked = Query("total price", candidates=["tests/test_price.py", "not/there.py"])
    assert paths(ranked(shop, asked)) == ["tests/test_price.py"]


def test_with_a_seed_alone_what_hangs_together_with_it_comes_first(shop: Path):
    found = paths(ranked(shop, Query("", seed="shop/cart.py")))
    assert set(found[:2]) == {"shop/price.py", "shop/web/views.py"}
    assert "shop/cart.py" not in found


def test_the_cursor_narrows_the_seed_to_the_function_around_it(tmp_path: Path):
    files = {
        "a.py": "def one():\n    return only_in_b()\n\n\ndef two():\n    return only_in_c()\n",
        "b.py": "def only_in_b():\n    pass\n",
        "c.py": "def only_in_c():\n    pass\n",
    }
    root = write_workspace(tmp_path / "w", files)
    assert paths(ranked(root, Query("", seed="a.py", position=Position(1, 5))))[0] == "b.py"
    assert paths(ranked(root, Query("", seed="a.py", position=Position(5, 5))))[0] == "c.py"


def test_what_changed_together_with_the_seed_is_found(shop: Path):
    commit(shop, "All of it", *SHOP)
    for number in range(3):
        commit(shop, f"Step {number}", "shop/price.py", "shop/mail.py")
    found = ranked(shop, Query("", seed="shop/price.py", candidates=["shop/mail.py", "shop/web/views.py"]))
    assert paths(found)[0] == "shop/mail.py"
    assert "it often changed together with shop/price.py" in found[0].reasons


def test_words_that_only_past_commits_use_find_the_files_they_changed(shop: Path):
    commit(shop, "All of it", *SHOP)
    commit(shop, "Make the parcel lighter", "shop/mail.py")
    commit(shop, "Something else", "shop/cart.py")
    found = ranked(shop, Query("parcels"))
    assert paths(found)[0] == "shop/mail.py"
    assert "commits that changed it were described alike" in found[0].reasons


def test_every_answer_says_why(shop: Path):
    assert all(one.reasons for one in ranked(shop, Query("total of the cart", seed="shop/mail.py")))


def test_the_limit_is_kept_and_the_best_are_kept_in_order(shop: Path):
    whole = ranked(shop, Query("total price cart request"))
    assert ranked(shop, Query("total price cart request", limit=2)) == whole[:2]
    assert [one.score for one in whole] == sorted((one.score for one in whole), reverse=True)


def test_an_empty_question_of_an_empty_folder_has_no_answer(tmp_path: Path):
    assert ranked(tmp_path, Query("")) == ()


def test_a_corpus_that_follows_changes_answers_as_a_new_one(shop: Path):
    index = Index(shop)
    index.scan()
    corpus = Corpus(index.root)
    rank(corpus, index.snapshot(), Query("receipt"))
    (shop / "shop/mail.py").write_text("def post(): pass\n", encoding="utf-8")
    (shop / "shop/news.py").write_text("# the receipt is old news\n", encoding="utf-8")
    (shop / "shop/cart.py").unlink()
    index.scan()
    for text in ("receipt", "checkout cart", "post"):
        fresh = rank(Corpus(index.root), index.snapshot(), Query(text))
        assert rank(corpus, index.snapshot(), Query(text)) == fresh


def test_requests_see_the_folder_as_it_is_each_time(shop: Path):
    indexes = IndexCache()
    request = {"repo_dir": str(shop), "query": {"message": "the receipt", "candidates": list(SHOP), "level": "file"}}
    assert rank_request(indexes, request)[0] == "shop/mail.py"
    (shop / "shop/mail.py").write_text("", encoding="utf-8")
    (shop / "shop/cart.py").write_text("receipt = 1\n", encoding="utf-8")
    assert rank_request(indexes, json.loads(json.dumps(request)))[0] == "shop/cart.py"


@settings(max_examples=50, deadline=None)
@given(text=st.text(), source=st.text(), line=st.integers(0, 9), column=st.integers(0, 99))
def test_any_question_of_any_source_has_an_answer(
    tmp_path_factory: pytest.TempPathFactory, text: str, source: str, line: int, column: int
):
    root = tmp_path_factory.mktemp("any")
    (root / "a.py").write_text(source, encoding="utf-8", errors="replace", newline="")
    (root / "b.py").write_text(f"import a\n{text}", encoding="utf-8", errors="replace", newline="")
    for seed in (None, "a.py", "gone.py"):
        for level in ("file", "function"):
            found = ranked(root, Query(text, seed=seed, position=Position(line, column), level=level))
            assert all(one.path in {"a.py", "b.py"} for one in found)


def test_a_snapshot_with_no_files_is_followed(tmp_path: Path):
    assert rank(Corpus(tmp_path), Snapshot(), Query("anything", seed="gone.py")) == ()


def test_a_function_is_found_by_the_words_in_it(shop: Path):
    found = ranked(shop, Query("deliver a receipt", level="function"))
    assert found[0].item == "shop/mail.py::send"


def test_a_function_is_found_by_its_name_among_others_with_the_same_words(tmp_path: Path):
    source = "def load(path):\n    return parse(path)\n\n\ndef parse(path):\n    return load(path)\n"
    root = write_workspace(tmp_path / "w", {"a.py": source})
    assert ranked(root, Query("`parse` fails", level="function"))[0].name == "parse"


def test_what_is_named_at_the_cursor_comes_first_and_the_function_around_it_not_at_all(shop: Path):
    query = Query("", seed="shop/cart.py", position=Position(4, 8), level="function")
    found = [one.item for one in ranked(shop, query)]
    assert found[0] == "shop/price.py::total"
    assert "shop/cart.py::checkout" not in found


def test_only_functions_that_are_candidates_are_answered(shop: Path):
    asked = Query("total of the prices", level="function", candidates=["shop/cart.py::checkout", "shop/cart.py::gone"])
    assert [one.item for one in ranked(shop, asked)] == ["shop/cart.py::checkout"]


def test_a_function_is_found_by_what_was_said_when_it_was_changed(shop: Path):
    commit(shop, "All of it", *SHOP)
    (shop / "shop/price.py").write_text(SHOP["shop/price.py"].replace("return x", "return x + 0"), encoding="utf-8")
    commit(shop, "Stop the penny shaving", "shop/price.py")
    found = ranked(shop, Query("penny shaving", level="function"))
    assert found[0].item == "shop/price.py::round_to_cents"


IN_A_PROCESS = """
import sys
from pathlib import Path
from rolecall_analysis import Index
from rolecall_analysis.retrieval import Corpus, Query, rank

index = Index(Path(sys.argv[1]))
index.scan()
ranked = rank(Corpus(index.root), index.snapshot(), Query("pay", level="function", limit=60))
print([(one.path, one.name, one.score) for one in ranked])
"""


def test_equals_are_ranked_alike_in_each_process(tmp_path: Path) -> None:
    for number in range(30):
        shop = f"def pay(cart):\n    return add_{number}(cart)\n\n\ndef add_{number}(cart):\n    return cart\n"
        (tmp_path / f"shop_{number}.py").write_text(shop)
    told = {
        subprocess.run(
            [sys.executable, "-c", IN_A_PROCESS, tmp_path],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "2")
    }
    assert len(told) == 1
