"""Measure the reading of a folder of Python into facts, as ratios to a bare tree-sitter parse of the same files.

    python benchmarks/extraction.py FOLDER [ROUNDS]

Anchor and engine take turns; each line is the median of the rounds' ratios of CPU time.
"""

from __future__ import annotations

import gc
import random
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tree_sitter import Parser

from rolecall_analysis.facts.packed import mentioned_names, unpack
from rolecall_analysis.grammar import PYTHON
from rolecall_analysis.python import FunctionCache, read_facts, read_packed
from rolecall_analysis.syntax import parse, reparse
from rolecall_analysis.text import decode

KEYSTROKES = 200
EDITED_LINES = 3_000


def main(folder: Path, rounds: int) -> None:
    """Measure, and print a line for each measure."""
    contents = [path.read_bytes() for path in sorted(folder.rglob("*.py"))]
    texts = [decode(content)[0] for content in contents]
    n_lines = sum(text.count("\n") for text in texts)
    parser = Parser(PYTHON)
    packed = [read_packed(parse(text)) for text in texts]
    print(f"{len(texts):,} files, {n_lines:,} lines")
    print(f"packed facts: {sum(map(len, packed)) / n_lines:.1f} MB per million lines")

    def parse_all() -> None:
        for content in contents:
            parser.parse(content)

    measures: dict[str, Callable[[], object]] = {
        "parse, as the engine does": lambda: [parse(text) for text in texts],
        "parse, extract and pack": lambda: [read_packed(parse(text)) for text in texts],
        "identifiers of packed facts": lambda: [mentioned_names(one) for one in packed],
        "definitions and imports of packed facts": lambda: [
            (facts.definitions, facts.imports) for facts in (unpack("m.py", one) for one in packed)
        ],
        "calls and references of packed facts": lambda: [
            (facts.calls, facts.references) for facts in (unpack("m.py", one) for one in packed)
        ],
    }
    gc.freeze()
    ratios: dict[str, list[float]] = {name: [] for name in measures}
    for _ in range(rounds):
        anchor_s = cpu_s(parse_all)
        for name, work in measures.items():
            ratios[name].append(cpu_s(work) / anchor_s)
    for name, found in ratios.items():
        print(f"{name}: {statistics.median(found):.2f} x a bare parse")
    long_enough = [text for text in texts if EDITED_LINES * 0.7 < text.count("\n") < EDITED_LINES * 1.5]
    for text in long_enough[:3]:
        measure_keystrokes(text)


def measure_keystrokes(text: str) -> None:
    """Type into *text* in places drawn by lot; print the ratio to a bare parse of the whole."""
    chance = random.Random(0)
    parser = Parser(PYTHON)
    syntax, memory = parse(text), FunctionCache()
    read_facts("m.py", syntax, memory)
    ratios: list[float] = []
    for _ in range(KEYSTROKES):
        at = chance.randrange(len(text))
        text = text[:at] + chance.choice("abc_ (=:\n.") + text[at:]
        source = text.encode()
        anchor_s = min(cpu_s(lambda source=source: parser.parse(source)) for _ in range(3))
        start = time.process_time()
        syntax = reparse(syntax, text)
        facts = read_facts("m.py", syntax, memory)
        assert facts.definitions is not None
        ratios.append((time.process_time() - start) / anchor_s)
        if syntax.tree is not None and syntax.tree.root_node.has_error and chance.random() < 0.5:
            text = text[:at] + text[at + 1 :]  # the typist takes it back
            syntax = reparse(syntax, text)
    p50, p95 = statistics.quantiles(ratios, n=20)[9], statistics.quantiles(ratios, n=20)[18]
    print(f"a keystroke in {text.count(chr(10)):,} lines, to new facts: p50 {p50:.2f}, p95 {p95:.2f} x a bare parse")


def cpu_s(work: Callable[[], object]) -> float:
    """The CPU seconds that *work* takes."""
    start = time.process_time()
    work()
    return time.process_time() - start


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 5)
