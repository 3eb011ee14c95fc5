"""Threads that parse Python do not disturb each other."""

from __future__ import annotations

import argparse
import gc
import inspect
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from rolecall_server.python_trees import parse_expression, parse_python


def test_threads_parse_at_once_while_memory_is_being_collected() -> None:
    text, deep = inspect.getsource(argparse), "x = (((1+2)+3)+4)\n" * 200

    def gives_way(_phase: str, _info: dict[str, int]) -> None:
        time.sleep(0)

    gc.callbacks.append(gives_way)
    try:
        with ThreadPoolExecutor(4) as pool:
            trees = list(pool.map(parse_python, [text, deep] * 80))
    finally:
        gc.callbacks.remove(gives_way)
    assert {len(tree.body) for tree in trees} == {len(trees[0].body), 200}


def test_an_invalid_escape_is_parsed_without_a_warning(recwarn: pytest.WarningsRecorder) -> None:
    assert len(parse_python("x = '\\d'\n").body) == 1
    assert parse_expression("'\\d'")
    assert not recwarn.list
