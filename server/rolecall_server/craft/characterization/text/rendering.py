"""Tests as text: one function for each group of cases, as a person of that repository would lay it out."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from rolecall_server.craft.characterization.inputs.preparation import statement_of, unrolled
from rolecall_server.craft.characterization.inputs.stand_ins import is_stand_in
from rolecall_server.craft.characterization.inputs.survey import BUILTIN_NAMES
from rolecall_server.craft.characterization.observation import ENVIRONMENT, filled
from rolecall_server.craft.characterization.text.grouping import FOLDER, Column, Group, is_scalar
from rolecall_server.craft.characterization.text.house_style import HouseStyle
from rolecall_server.craft.characterization.text.layout import lay_out, on_one_line, with_quotes
from rolecall_server.python_trees import parse_expression, parse_python

_SINGLETONS = ("True", "False", "None")
_AFTERWARDS = re.compile(r"expected|\w+_after(_\d+)?$")
"""The names of columns that hold what is seen after a call."""
_MANY_DIGITS = 12
_LONG = 60
_PLAIN_TYPES = frozenset(
    {
        *(
            "bool",
            "bytearray",
            "bytes",
            "complex",
            "dict",
            "float",
            "frozenset",
            "int",
            "list",
            "range",
            "set",
            "slice",
        ),
        *("str", "tuple", "Decimal", "Fraction", "UUID", "PurePosixPath"),
        *("datetime", "date", "time", "timedelta", "timezone", "utc"),
    }
)
_LOOSE = (ast.Compare, ast.BoolOp, ast.Lambda, ast.IfExp, ast.NamedExpr)
"""Expressions that a comparison around them would tear apart."""
_LITERAL_NODES = (
    *(ast.Constant, ast.List, ast.Tuple, ast.Set, ast.Dict, ast.UnaryOp, ast.unaryop, ast.expr_context),
    *(ast.Call, ast.keyword, ast.Name, ast.Attribute),
)


@dataclass(frozen=True)
class Rendered:
    """Tests, and what their file has to import."""

    tests: tuple[str, ...]
    """The text of each, without blank lines around."""
    modules: frozenset[str]
    """The modules that are imported as a whole."""
    names: Mapping[str, frozenset[str]]
    """The names that are imported from each module."""


def render(
    groups: Sequence[Group], sources: Mapping[str, tuple[str, str]], style: HouseStyle, *, class_name: str = ""
) -> Rendered:
    """Return the tests of *groups*, which import what they need of *sources*: by name a module and the name there,
    which is empty for the module itself.

    Under unittest they are the methods of one class, *class_name*.
    """
    write = _write_pytest if style.framework == "pytest" else _write_method
    tests = [with_quotes(write(group, style), style.quote) for group in groups]
    used = {name for text in tests for name in _names_in(text)}
    modules = {name for name in ("pytest",) if name in used}
    names: dict[str, set[str]] = {}
    for name in sorted(used & sources.keys()):
        source, attribute = sources[name]
        if attribute:
            names.setdefault(source, set()).add(attribute)
        else:
            modules.add(source)
    for group in groups:
        if group.patched:
            names.setdefault("unittest.mock", set()).add("patch")
        outermost = group.exception.partition(".")[0]
        is_known = any(outermost in found for found in names.values())
        if outermost and not is_known and group.exception_module != "builtins":
            names.setdefault(group.exception_module, set()).add(outermost)
    if style.framework == "unittest":
        base = "unittest.TestCase"
        if style.takes_test_case:
            base = "TestCase"
            names.setdefault("unittest", set()).add(base)
        else:
            modules.add("unittest")
        if any(group.needs_folder for group in groups):
            modules |= {"pathlib", "tempfile"}
        body = "\n\n".join(_indented(text) for text in tests)
        tests = [f"class {class_name}({base}):\n{body}"]
    return Rendered(tuple(tests), frozenset(modules), {source: frozenset(found) for source, found in names.items()})


def _names_in(text: str) -> Iterable[str]:
    tree = parse_python(text)
    stored = {one.arg for one in ast.walk(tree) if isinstance(one, ast.arg)}
    stored |= {one.id for one in ast.walk(tree) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
    return {one.id for one in ast.walk(tree) if isinstance(one, ast.Name)} - stored


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" if line else line for line in text.splitlines())


def _split(group: Group) -> tuple[list[Column], list[str]]:
    """Return the columns that vary from case to case, and what stands for each operand in the call."""
    if group.n_cases == 1:
        return [], [column.sources[0] for column in group.operands]
    constant = [column.constant for column in group.operands]
    columns = [column for column, same in zip(group.operands, constant, strict=True) if not same]
    stands = [column.sources[0] if same else column.name for column, same in zip(group.operands, constant, strict=True)]
    results = [
        *(column for _, column in group.views),
        *(column for _, _, column in group.effects),
        *([group.printed] if group.printed else []),
        *([group.messages] if group.messages else []),
    ]
    return [*columns, *(column for column in results if column is group.messages or not _is_inlined(column))], stands


def _is_inlined(column: Column) -> bool:
    return column.constant and (len(column.sources[0]) <= 40 or FOLDER in column.sources[0])


def _write_pytest(group: Group, style: HouseStyle) -> str:
    columns, stands = _split(group)
    arguments = [column.name for column in columns] + [FOLDER] * group.needs_folder + ["capsys"] * bool(group.printed)
    body = _body(group, stands, style, indent=4)
    head = _parametrize(columns, style) if columns else []
    return "\n".join([*head, *_definition(group.name, arguments, style), *body])


def _definition(name: str, arguments: Sequence[str], style: HouseStyle) -> list[str]:
    line = f"def test_{name}({', '.join(arguments)}):"
    if len(line) <= style.line_length or not arguments:
        return [line]
    joined = ", ".join(arguments)
    rows = [joined] if 4 + len(joined) <= style.line_length else [f"{one}," for one in arguments]
    return [f"def test_{name}(", *(f"    {row}" for row in rows), "):"]


def _parametrize(columns: Sequence[Column], style: HouseStyle) -> list[str]:
    names = [f'"{column.name}"' for column in columns]
    given = (
        names[0] if len(names) == 1 else lay_out(f"({', '.join(names)})", indent=4, width=style.line_length, after=1)
    )
    given = with_quotes(given, '"')
    rows = list(zip(*(column.sources for column in columns), strict=True))
    scalar = all(is_scalar(source) for row in rows for source in row)
    ids = [] if scalar else _ids(columns, rows)
    lines = ["@pytest.mark.parametrize(", f"    {given},", "    ["]
    for number, row in enumerate(rows):
        text = row[0] if len(row) == 1 else f"({', '.join(row)})"
        if isinstance(ids, list) and ids:
            text = f"pytest.param({', '.join(row)}, id={ids[number]!r})"
        lines.append(f"        {lay_out(text, indent=8, width=style.line_length, after=1)},")
    lines.append("    ],")
    if ids == "repr":
        lines.append("    ids=repr,")
    return [*lines, ")"]


def _ids(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> Literal["repr"] | list[str]:
    """Return the ids of the cases: ``repr`` where all values are short, plain literals, else the text of what
    is given.
    """
    if all(_is_literal(source) and len(source) <= 40 for row in rows for source in row):
        return "repr"
    n_given = max(1, sum(_AFTERWARDS.match(column.name) is None for column in columns))
    found: list[str] = []
    for row in rows:
        text = re.sub(r"[^\x20-\x7e]|\\", "?", ", ".join(row[:n_given]))
        text = text if len(text) <= 40 else f"{text[:37]}..."
        while text in found:
            text += "'"
        found.append(text)
    return found


def _is_literal(source: str) -> bool:
    """Return whether the `repr` of an expression's value is the same in every process."""
    return all(
        isinstance(node, _LITERAL_NODES) and (not isinstance(node, ast.Name | ast.Attribute) or _is_plain_type(node))
        for node in ast.walk(parse_expression(source))
    )


def _is_plain_type(node: ast.Name | ast.Attribute) -> bool:
    name = node.id if isinstance(node, ast.Name) else node.attr
    return name in _PLAIN_TYPES


def _body(group: Group, stands: Sequence[str], style: HouseStyle, indent: int) -> list[str]:
    pad = " " * indent
    lines, stands = _prepared(group, stands, style, indent)
    # What is looked at afterwards needs a name; what is long and has a method called is read with one.
    long = [place for place, stand in enumerate(stands) if len(stand) > _LONG and f"{{{place}}}." in group.template]
    mocks = [place for place, stand in enumerate(stands) if is_stand_in(stand) and _times(group, place) != 1]
    for number in dict.fromkeys([*long, *mocks, *(number for number, _, _ in group.effects)]):
        name = group.operands[number].name
        if stands[number] != name:
            lines.append(
                f"{pad}{name} = {lay_out(stands[number], indent=indent, width=style.line_length, before=len(name) + 3)}"
            )
            stands[number] = name
    patches = _patches(group, stands, style, indent)
    lines += patches
    indent += 4 * len(patches)
    pad = " " * indent
    call = filled(group.template, stands)
    if group.exception:
        return [*lines, *_raises(group, call, style, indent)]
    single = group.n_cases == 1
    if group.warns:
        lines.append(f"{pad}with {_warning(group.warns, style)}:")
    if len(group.views) > 1 or (group.views and group.warns):
        inner = indent + 4 * bool(group.warns)
        lines.append(f"{' ' * inner}result = {lay_out(call, indent=inner, width=style.line_length, before=9)}")
        call = "result"
    elif group.warns:
        lines += _alone(call, style, indent + 4)
    elif not group.views:
        lines += _alone(call, style, indent)
    for template, column in group.views:
        lines += _assertion(on_one_line(template.format(f"({call})")), column, single, style, indent)
    for number, template, column in group.effects:
        lines += _assertion(on_one_line(template.format(f"({stands[number]})")), column, single, style, indent)
    if group.printed is not None:
        lines += _assertion("capsys.readouterr().out", group.printed, single, style, indent)
    return lines


def _patches(group: Group, stands: Sequence[str], style: HouseStyle, indent: int) -> list[str]:
    """Return the lines that put operands in the place of names of the module: one where that is short enough."""
    patches = [_patch(name, stands[place]) for place, name in group.patched]
    line = f"{' ' * indent}with {', '.join(patches)}:"
    if len(line) <= style.line_length or not patches:
        return [line] if patches else []
    return [f"{' ' * (indent + 4 * depth)}with {patch}:" for depth, patch in enumerate(patches)]


def _patch(name: str, value: str) -> str:
    return f'patch.dict("{name}", {value}, clear=True)' if name == ENVIRONMENT else f'patch("{name}", {value})'


def _times(group: Group, place: int) -> int:
    """Return how often the call names the operand at *place*."""
    return group.template.count(f"{{{place}}}")


def _prepared(group: Group, stands: Sequence[str], style: HouseStyle, indent: int) -> tuple[list[str], list[str]]:
    """Return the statements that make the objects which take several steps, and what stands for each operand then."""
    lines: list[str] = []
    left: list[str] = []
    taken = {column.name for column in [*group.operands, *(column for _, column in group.views)]}
    taken -= {column.name for column, stand in zip(group.operands, stands, strict=True) if stand != column.name}
    for stand in stands:
        statements, rest, bound = unrolled(stand, taken)
        taken |= bound
        left.append(rest)
        lines += [line for one in statements for line in _laid_out(one, style, indent)]
    return lines, left


def _warning(kinds: Sequence[str], style: HouseStyle) -> str:
    given = kinds[0] if len(kinds) == 1 else f"({', '.join(kinds)})"
    return f"{'self.assertWarns' if style.framework == 'unittest' else 'pytest.warns'}({given})"


def _alone(call: str, style: HouseStyle, indent: int) -> list[str]:
    """Return a call of which the result is not looked at: one that sets an attribute or an item as an assignment."""
    return _laid_out(statement_of(parse_expression(call)), style, indent)


def _laid_out(statement: str, style: HouseStyle, indent: int) -> list[str]:
    """Return an assignment, or an expression that stands alone, in lines of the right length."""
    node = parse_python(statement).body[0]
    before = ""
    if isinstance(node, ast.Assign):
        before, node = f"{ast.unparse(node.targets[0])} = ", ast.Expr(node.value)
    assert isinstance(node, ast.Expr)
    text = lay_out(ast.unparse(node.value), indent=indent, width=style.line_length, before=len(before))
    return f"{' ' * indent}{before}{text}".splitlines()


def _raises(group: Group, call: str, style: HouseStyle, indent: int) -> list[str]:
    pad = " " * indent
    inner = "\n".join(_alone(call, style, indent + 4))
    # `re.escape` escapes spaces too, which mean something in verbose patterns only.
    pattern = re.escape(group.message).replace(r"\ ", " ") if group.message else ""
    literal = f'r"{pattern}"' if "\\" in pattern else f'"{pattern}"'
    usable = bool(pattern) and '"' not in pattern and pattern.isprintable()
    if group.messages is not None:
        literal, usable = f"re.escape({group.messages.name})", True
    if style.framework == "unittest":
        head = (
            f"self.assertRaisesRegex({group.exception}, {literal})"
            if usable
            else f"self.assertRaises({group.exception})"
        )
    else:
        head = f"pytest.raises({group.exception}, match={literal})" if usable else f"pytest.raises({group.exception})"
    line = f"{pad}with {head}:"
    if len(line) <= style.line_length:
        return [line, inner]
    function, _, rest = head.partition("(")
    return [f"{pad}with {function}(", f"{pad}    {rest.removesuffix(')')}", f"{pad}):", inner]


def _assertion(actual: str, column: Column, single: bool, style: HouseStyle, indent: int) -> list[str]:
    inlined = single or _is_inlined(column)
    expected = on_one_line(column.sources[0]) if inlined else column.name
    if style.framework == "unittest":
        return _unittest_assertion(actual, expected, column, style, indent)
    pad = " " * indent
    node = parse_expression(actual)
    held = f"({actual})" if isinstance(node, _LOOSE) else actual
    if inlined and expected in ("True", "False") and isinstance(node, ast.Compare):
        line = f"{pad}assert {actual}" if expected == "True" else f"{pad}assert not {held}"
        if len(line) <= style.line_length:
            return [line]
    if (inlined and expected in _SINGLETONS) or (inlined and expected in BUILTIN_NAMES):
        sign = "is"
    else:
        sign = "=="
        if any(_is_rounded(source) for source in column.sources):
            expected = f"pytest.approx({expected})"
    line = f"{pad}assert {held} {sign} {expected}"
    if len(line) <= style.line_length:
        return [line]
    lines: list[str] = []
    if inlined and len(expected) > 30 and not expected.startswith("pytest."):
        lines.append(f"{pad}expected = {lay_out(expected, indent=indent, width=style.line_length, before=11)}")
        expected = "expected"
    line = f"{pad}assert {held} {sign} {expected}"
    if len(line) > style.line_length and actual != "result":
        lines.append(f"{pad}result = {lay_out(actual, indent=indent, width=style.line_length, before=9)}")
        line = f"{pad}assert result {sign} {expected}"
    return [*lines, line]


def _is_rounded(source: str) -> bool:
    """Return whether a literal is a float, or a flat list of floats, of which one looks like the result of rounding."""
    node = parse_expression(source)
    parts = node.elts if isinstance(node, ast.List | ast.Tuple) else [node]
    numbers = [part.operand if isinstance(part, ast.UnaryOp) else part for part in parts]
    return all(isinstance(one, ast.Constant) and type(one.value) in (int, float) for one in numbers) and any(
        isinstance(one, ast.Constant)
        and isinstance(one.value, float)
        and len(repr(one.value).partition("e")[0].replace(".", "")) >= _MANY_DIGITS
        for one in numbers
    )


def _write_method(group: Group, style: HouseStyle) -> str:
    """Return a group as a method of a `unittest.TestCase`, at no indentation."""
    columns, stands = _split(group)
    inner = HouseStyle(style.framework, style.line_length - 4, style.quote)
    if not columns:
        return "\n".join([f"def test_{group.name}(self):", *_folder(group, 4), *_body(group, stands, inner, indent=4)])
    names = ", ".join(column.name for column in columns)
    lines = [f"def test_{group.name}(self):", "    cases = ["]
    for row in zip(*(column.sources for column in columns), strict=True):
        text = row[0] if len(row) == 1 else f"({', '.join(row)})"
        lines.append(f"        {lay_out(text, indent=8, width=inner.line_length, after=1)},")
    shown = ", ".join(f"{column.name}={column.name}" for column in columns if not column.name.startswith("expected"))
    lines += ["    ]", f"    for {names} in cases:", f"        with self.subTest({shown}):"]
    return "\n".join([*lines, *_folder(group, 12), *_body(group, stands, inner, indent=12)])


def _folder(group: Group, indent: int) -> list[str]:
    """Return the statements that make the temporary folder, for which pytest has a fixture."""
    if not group.needs_folder:
        return []
    made = "temporary = tempfile.TemporaryDirectory()", "self.addCleanup(temporary.cleanup)"
    return [f"{' ' * indent}{statement}" for statement in (*made, f"{FOLDER} = pathlib.Path(temporary.name)")]


def _unittest_assertion(actual: str, expected: str, column: Column, style: HouseStyle, indent: int) -> list[str]:
    pad = " " * indent
    if expected in ("True", "False", "None") and column.constant:
        text = f"self.assertIs({actual}, {expected})"
    elif any(_is_rounded(source) for source in column.sources) and not expected.startswith(("[", "(")):
        text = f"self.assertAlmostEqual({actual}, {expected})"
    else:
        text = f"self.assertEqual({actual}, {expected})"
    return [f"{pad}{lay_out(text, indent=indent, width=style.line_length)}"]
