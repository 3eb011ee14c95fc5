"""`rolecall rank --serve`: a line in, a line out."""

from __future__ import annotations

import io
import json
from pathlib import Path

from rolecall_server.cli.commands.rank import answer_lines


def ask(*lines: str) -> list[object]:
    answers = io.StringIO()
    assert answer_lines(lines, answers) == 0
    return [json.loads(line) for line in answers.getvalue().splitlines()]


def question(root: Path, message: str) -> str:
    return json.dumps({"repo_dir": str(root), "query": {"message": message, "level": "file"}}) + "\n"


def test_each_question_is_answered_for_the_folder_as_it_is_then(tmp_path: Path) -> None:
    (tmp_path / "price.py").write_text("def total(items):\n    return sum(items)\n")
    (tmp_path / "cart.py").write_text("def checkout(cart):\n    return cart\n")
    (first,) = ask(question(tmp_path, "the total of all items"))
    assert isinstance(first, list)
    assert first[0] == "price.py"
    (tmp_path / "refund.py").write_text("def refund(money):\n    return -money\n")
    (second,) = ask(question(tmp_path, "refund the money"))
    assert isinstance(second, list)
    assert second[0] == "refund.py"


def test_a_line_that_is_no_question_is_told_so_and_the_next_is_answered(tmp_path: Path) -> None:
    (tmp_path / "price.py").write_text("def total(): ...\n")
    answers = ask("{", "[]", '{"repo_dir": 1, "query": {}}', "\n", question(tmp_path, "total"))
    assert [isinstance(answer, dict) and "error" in answer for answer in answers] == [True, True, True, False]
    assert answers[-1] == ["price.py"]
