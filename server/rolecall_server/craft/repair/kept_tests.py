"""The guard of the tests: a repair may add some, and may neither change, skip nor drop one."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from pathlib import PurePosixPath

from rolecall_analysis import Snapshot, is_conftest, is_test
from rolecall_server.python_trees import parse_python

_FOLDERS = frozenset({"test", "tests"})
_SETTINGS = frozenset(
    {"conftest.py", "pytest.ini", ".pytest.ini", "pytest.toml", "tox.ini", "setup.cfg", "pyproject.toml"}
)
"""Files that say which tests run, and what happens around them."""
_TOLD = "A repair leaves the tests as they are: correct the code that they test."
_IMPORT = ast.Import | ast.ImportFrom


def why_kept(snapshot: Snapshot, path: str) -> str | None:
    """Return the reason why a repair may not write *path* at all; ``None`` where it may, or may add to it.

    Data beside the tests and what they are set up with decide what a test asks as much as its own lines do.
    """
    name = PurePosixPath(path)
    if name.name in _SETTINGS or is_conftest(path):
        return f"{path} decides which tests run, and how. {_TOLD}"
    is_new_or_test = path not in snapshot.files or is_test(snapshot, path)
    if _FOLDERS.isdisjoint(name.parts[:-1]) or (is_new_or_test and name.suffix == ".py"):
        return None
    return f"{path} is what the tests work with. {_TOLD}"


def why_weakened(path: str, before: str | None, after: str) -> str | None:
    """Return the reason why the test file *path* may not become *after*; ``None`` where that only adds tests.

    What *before* holds must all be there, in its order. Beside it there may be imports, and tests under new names.
    """
    if before is None:
        return None
    try:
        old, new = parse_python(before), parse_python(after)
    except (SyntaxError, ValueError, RecursionError):
        return None if before == after else f"{path} cannot be compared with what it was. {_TOLD}"
    changed = _first_change(old.body, new.body)
    return f"{changed} of {path} would change. {_TOLD}" if changed else None


def _first_change(old: Sequence[ast.stmt], new: Sequence[ast.stmt]) -> str:
    """Return what of *old* is not in *new*, or would mean something else there; empty where all is as it was."""
    before, after = _imported(old), _imported(new)
    if lost := [name for name, what in before.items() if after.get(name) != what]:
        return f"The import of {lost[0]}"
    names = _bound(old)
    # A new import under a name that the tests use would give them something else to test.
    if taken := sorted(names & (after.keys() - before.keys())):
        return taken[0]
    left = [one for one in new if not isinstance(one, _IMPORT)]
    for statement in old:
        if isinstance(statement, _IMPORT):
            continue
        while left and not _is_same(statement, left[0]):
            if not _is_new_test(left.pop(0), names):
                return _called(statement)
        if not left:
            return _called(statement)
        found = left.pop(0)
        if inner := _first_change(_inside(statement), _inside(found)):
            return inner
    return next((_called(one) for one in left if not _is_new_test(one, names)), "")


def _is_same(old: ast.stmt, new: ast.stmt) -> bool:
    """Return whether both are the same statement; of classes only their heads are compared."""
    if isinstance(old, ast.ClassDef) and isinstance(new, ast.ClassDef):
        return _head(old) == _head(new)
    return ast.dump(old) == ast.dump(new)


def _inside(one: ast.stmt) -> Sequence[ast.stmt]:
    return one.body if isinstance(one, ast.ClassDef) else ()


def _head(one: ast.ClassDef) -> tuple[str, ...]:
    return one.name, *(ast.dump(part) for part in (*one.bases, *one.keywords, *one.decorator_list))


def _is_new_test(added: ast.stmt, names: frozenset[str]) -> bool:
    if not isinstance(added, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return False
    if any("fixture" in ast.dump(decorator) for decorator in added.decorator_list):
        return False  # it may be used by every test
    return added.name.lower().startswith("test") and added.name not in names


def _imported(statements: Sequence[ast.stmt]) -> dict[str, str]:
    """Return the names that the imports among *statements* bind, each with where it comes from."""
    found: dict[str, str] = {}
    for one in statements:
        if isinstance(one, ast.Import):
            found |= {alias.asname or alias.name: alias.name for alias in one.names}
        elif isinstance(one, ast.ImportFrom):
            place = f"{'.' * one.level}{one.module or ''}"
            found |= {alias.asname or alias.name: f"{place}:{alias.name}" for alias in one.names}
    return found


def _bound(statements: Sequence[ast.stmt]) -> frozenset[str]:
    """Return the names that *statements* other than imports bind or use at their own level."""
    found: set[str] = set()
    for one in statements:
        if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(one.name)
        elif not isinstance(one, _IMPORT):
            found |= {node.id for node in ast.walk(one) if isinstance(node, ast.Name)}
    return frozenset(found)


def _called(statement: ast.stmt) -> str:
    name = getattr(statement, "name", "")
    return f"{name} (line {statement.lineno})" if name else f"Line {statement.lineno}"
