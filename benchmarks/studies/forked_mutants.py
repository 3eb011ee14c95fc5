"""cosmic-ray's mutants of a module, each tried in a fork of a process that has pytest ready: many times as fast.

    python benchmarks/studies/forked_mutants.py MODULE [PYTEST ARGUMENT...]

Run it in the root of the repository, with an environment that has cosmic-ray; it prints how many mutants the tests
killed and how many there are, and on standard error the lines of those that lived. A mutant is killed where pytest does
not end well within ten seconds of the processor's time: another load of the machine changes nothing.
"""

from __future__ import annotations

import os
import resource
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names

PROCESSOR_S = 10
TIMEOUT_S = 300.0
"""For those that only wait."""


def main() -> None:
    """Try all mutants; the module is as it was afterwards."""
    module, arguments = Path(sys.argv[1]), ["-x", "-q", "-p", "no:cacheprovider", *sys.argv[2:]]
    text = module.read_bytes()
    forget(Path.cwd())
    if not passes(arguments):
        raise SystemExit("The tests do not pass without a fault.")
    n_killed = n_all = 0
    try:
        for mutant in mutants(text.decode("utf-8")):
            module.write_text(mutant, "utf-8")
            n_all += 1
            if passes(arguments):
                print(n_all, *changed_lines(text.decode("utf-8"), mutant), sep="\n", file=sys.stderr, flush=True)
            else:
                n_killed += 1
    finally:
        module.write_bytes(text)
    print(n_killed, n_all)


def mutants(text: str) -> Iterator[str]:
    """The texts of all mutants, as ``cosmic-ray init`` lists them."""
    tree = get_ast(text)
    for name in sorted(operator_names()):
        kind = get_operator(name)
        if kind.arguments():
            continue  # cosmic-ray leaves out what it is given no arguments for
        operator = kind()
        for number in range(sum(1 for node in ast_nodes(tree) for _ in operator.mutation_positions(node))):
            mutant = mutate_code(text, operator, number)
            if mutant is not None:
                yield mutant


def changed_lines(text: str, mutant: str) -> Iterator[str]:
    """The lines that a mutant has otherwise."""
    pairs = zip(text.splitlines(), mutant.splitlines(), strict=False)
    return (f"  {old.strip()}  ->  {new.strip()}" for old, new in pairs if old != new)


def forget(root: Path) -> None:
    """Have what pytest itself needs of the repository imported anew."""
    for name, module in list(sys.modules.items()):
        if (getattr(module, "__file__", None) or "").startswith(f"{root}{os.sep}"):
            del sys.modules[name]


def passes(arguments: list[str]) -> bool:
    """Return whether pytest ends well, in a fork."""
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        resource.setrlimit(resource.RLIMIT_CPU, (PROCESSOR_S, PROCESSOR_S))
        silence = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(silence, descriptor)
        code = 3
        try:
            code = int(pytest.main(arguments))
        finally:
            os._exit(code)
    deadline = time.monotonic() + TIMEOUT_S
    while time.monotonic() < deadline:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return status == 0
        time.sleep(0.005)
    os.killpg(child, 9)
    os.waitpid(child, 0)
    return False


if __name__ == "__main__":
    main()
