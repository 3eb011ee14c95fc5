"""Tests in the text of a file: where each begins and ends, which cases it has, and the file without some of them."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from rolecall_server.python_trees import parse_python
from rolecall_server.sandbox import TestRun
from rolecall_server.workspace import split_lines

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class WrittenTest:
    """A test function or method."""

    name: str
    """As pytest joins it: ``TestPrice::test_total``."""
    node: Function
    helpers: Mapping[str, Function] = field(default_factory=dict[str, "Function"], compare=False)
    """The other functions that it may call: those of its file, and as ``self.name`` those of its class."""

    @property
    def start(self) -> int:
        """Its first line, decorators included, from 0."""
        # Python gives a function the line of its `def`, which is below the decorators.
        return min([self.node.lineno, *(decorator.lineno for decorator in self.node.decorator_list)]) - 1

    @property
    def end(self) -> int:
        """The line after its last."""
        return self.node.end_lineno or self.node.lineno

    @property
    def rows(self) -> tuple[ast.expr, ...]:
        """The cases it is parametrised with, where one list that is written there holds them all; else none."""
        lists = [call.args[1] for call in self._parametrisations() if len(call.args) > 1]
        if len(lists) != 1 or not isinstance(lists[0], ast.List | ast.Tuple):
            return ()
        rows = tuple(lists[0].elts)
        return () if any(isinstance(row, ast.Starred) for row in rows) else rows

    @property
    def parameters(self) -> tuple[str, ...]:
        """Return the names of the parts of each of `rows`."""
        for call in self._parametrisations():
            names = call.args[0]
            if isinstance(names, ast.Constant) and isinstance(names.value, str):
                return tuple(name.strip() for name in names.value.split(",") if name.strip())
            if isinstance(names, ast.List | ast.Tuple):
                return tuple(str(each.value) for each in names.elts if isinstance(each, ast.Constant))
        return ()

    def _parametrisations(self) -> list[ast.Call]:
        calls = [each for each in self.node.decorator_list if isinstance(each, ast.Call) and each.args]
        return [
            call for call in calls if isinstance(call.func, ast.Attribute) and call.func.attr.startswith("parametri")
        ]


def written_tests(text: str) -> tuple[WrittenTest, ...]:
    """Return the tests of *text*, in order. What does not parse has none."""
    return tuple(_written(text))


def added_tests(text: str, base: str | None) -> tuple[WrittenTest, ...]:
    """Return the tests that *text* has and *base* has not."""
    known = {test.name for test in _written(base or "")}
    return tuple(test for test in _written(text) if test.name not in known)


def changed_tests(text: str, base: str) -> tuple[str, ...]:
    """Return the names of the tests of *base* that *text* has in another form, or not at all."""
    now = {test.name: ast.dump(test.node) for test in _written(text)}
    return tuple(test.name for test in _written(base) if now.get(test.name) != ast.dump(test.node))


def function_of(test_id: str) -> str:
    """Return the name of the test function in a pytest node id, as `WrittenTest.name` has it."""
    return test_id.partition("::")[2].partition("[")[0]


def failing_rows(test: WrittenTest, run: TestRun, path: str, test_id: str = "") -> tuple[int, ...]:
    """Return the numbers of the rows of *test* in *path* that fail in *run*, or of the case *test_id* alone.

    Empty where the cases of *run* are not those rows.
    """
    ids = f"{path}::{test.name}["
    cases = [outcome for outcome in run.outcomes if outcome.test_id.startswith(ids)]
    if not cases or len(cases) != len(test.rows):
        return ()
    bad = {outcome.test_id for outcome in run.failed if test_id in ("", outcome.test_id)}
    return tuple(number for number, outcome in enumerate(cases) if outcome.test_id in bad)


def without_tests(text: str, names: Collection[str], base: str | None = None) -> str:
    """Return *text* without these tests, and without the blank lines above each; a class that is left empty goes too.

    So does what *text* imports, *base* does not, and nothing uses any more.
    """
    lines = split_lines(text)
    gone: set[int] = set()
    for test in _written(text):
        if test.name in names:
            gone |= set(range(_with_blank_lines(lines, test.start), test.end))
    for holder in (node for node in _parse(text).body if isinstance(node, ast.ClassDef)):
        inside = [node for node in holder.body if not is_docstring(node)]
        if inside and all(node.lineno - 1 in gone for node in inside):
            start = min([holder.lineno, *(decorator.lineno for decorator in holder.decorator_list)]) - 1
            gone |= set(range(_with_blank_lines(lines, start), holder.end_lineno or holder.lineno))
    if not gone:
        return text
    left = "".join(line for number, line in enumerate(lines) if number not in gone)
    return without_idle_imports(left, text, base)


def without_rows(text: str, rows: Mapping[str, Collection[int]]) -> str:
    """Return *text* without some cases of its parametrised tests: the numbers of the rows by the name of the test.

    Of a test that would have no case left, all stay.
    """
    # `ast` counts columns in bytes of UTF-8.
    content = text.encode("utf-8", "surrogatepass")
    starts = _line_starts(content)
    spans: list[tuple[int, int]] = []
    for test in _written(text):
        wanted = set(rows.get(test.name, ()))
        if wanted and len(wanted) < len(test.rows):
            spans += [_row_span(content, starts, test.rows, number) for number in sorted(wanted)]
    # From the end on, so that the places before it stay true.
    for start, end in sorted(spans, reverse=True):
        content = content[:start] + content[end:]
    return content.decode("utf-8", "surrogatepass")


def without_idle_imports(text: str, earlier: str, base: str | None) -> str:
    """Return *text* without the imports at its top that *earlier* used, *base* does not have, and *text* uses
    no more.
    """
    tree = _parse(text)
    idle = (_used(_parse(earlier)) - _used(tree)) - _imported(_parse(base or ""))
    lines = split_lines(text)
    for node in reversed([each for each in tree.body if isinstance(each, ast.Import | ast.ImportFrom)]):
        kept = [alias for alias in node.names if _bound(alias) not in idle]
        if len(kept) == len(node.names):
            continue
        first, last = node.lineno - 1, node.end_lineno or node.lineno
        node.names = kept
        lines[first:last] = [ast.unparse(node) + "\n"] if kept else []
    left = "".join(lines)
    return left if text.startswith("\n") else left.lstrip("\r\n")


def _written(text: str) -> Iterator[WrittenTest]:
    body = _parse(text).body
    functions = {node.name: node for node in body if isinstance(node, Function)}
    for node in body:
        if isinstance(node, Function) and node.name.startswith("test"):
            yield WrittenTest(node.name, node, functions)
        elif isinstance(node, ast.ClassDef):
            members = [member for member in node.body if isinstance(member, Function)]
            helpers = functions | {f"self.{member.name}": member for member in members}
            tests = [member for member in members if member.name.startswith("test")]
            yield from (WrittenTest(f"{node.name}::{member.name}", member, helpers) for member in tests)


def _parse(text: str) -> ast.Module:
    try:
        return parse_python(text)
    # A null byte can be a ValueError; code that is nested too deeply, a RecursionError or a MemoryError.
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module([], [])


def is_docstring(node: ast.stmt) -> bool:
    """Return whether *node* is nothing but a text."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _with_blank_lines(lines: list[str], start: int) -> int:
    while start > 0 and not lines[start - 1].strip():
        start -= 1
    return start


def _line_starts(content: bytes) -> list[int]:
    starts = [0]
    # As bytes: `str.splitlines` would also part at characters that end no line for Python.
    for line in content.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    return starts


def _row_span(content: bytes, starts: list[int], rows: tuple[ast.expr, ...], number: int) -> tuple[int, int]:
    """Return the byte range of a row with its comma, or of its line where the row has a line of its own."""
    row = rows[number]
    start = starts[row.lineno - 1] + row.col_offset
    end = starts[(row.end_lineno or row.lineno) - 1] + (row.end_col_offset or 0)
    if number + 1 < len(rows):
        following = rows[number + 1]
        if following.lineno == row.end_lineno:
            return start, starts[following.lineno - 1] + following.col_offset
    comma = content.find(b",", end)
    line_end = content.find(b"\n", end)
    if 0 <= comma < (line_end if line_end >= 0 else len(content)):
        end = comma + 1
    line_start = starts[row.lineno - 1]
    # A comment behind the row goes with it.
    if not content[line_start:start].strip() and not content[end:line_end].split(b"#")[0].strip():
        return line_start, line_end + 1
    return start, end


def _used(tree: ast.Module) -> set[str]:
    """Return the names that *tree* loads."""
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}


def _imported(tree: ast.Module) -> set[str]:
    imports = (node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom))
    return {_bound(alias) for node in imports for alias in node.names}


def _bound(alias: ast.alias) -> str:
    return alias.asname or alias.name.partition(".")[0]
