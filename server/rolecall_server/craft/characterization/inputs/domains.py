"""Expressions for a type: the boundaries everybody tries, and what the module itself names."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from rolecall_server.craft.characterization.inputs.survey import BUILTIN_NAMES, Survey, last_name
from rolecall_server.craft.characterization.inputs.syntax_nodes import NODES
from rolecall_server.craft.characterization.inputs.text_forms import FORMS
from rolecall_server.python_trees import parse_expression

_MAX_DEPTH = 3
_MAX_VALUES = 400

STRINGS = (
    "",
    "a",
    "abc",
    "hello world",
    "Hello World",
    "foo_bar",
    "fooBar",
    "42",
    "-1",
    "1.5",
    " x ",
    "é",
    "a-b",
    "ABC",
)
INTEGERS = (0, 1, 2, -1, 3, 5, 10, 12, 42, 100, 101, 1000, -7, 12345)
FLOATS = (0.0, 1.0, 0.5, -1.5, 2.25, 10.0, 1234.5678, 1e-7, 1e10)
FILES = (
    "[(file := tmp_path / 'a.txt'), file.write_text('first line\\nsecond = 2\\n'), file][-1]",
    "tmp_path / 'missing.txt'",
    "[(folder := tmp_path / 'folder'), folder.mkdir(), (folder / 'b.txt').write_text('b'), folder][-1]",
    "tmp_path",
    "[(file := tmp_path / 'a.json'), file.write_text('{\"a\": [1, 2]}'), file][-1]",
    "[(file := tmp_path / 'empty'), file.write_text(''), file][-1]",
)
"""Files and folders in the temporary folder of a test."""
_STREAMS = ("io.StringIO('a b\\nc\\n')", "io.StringIO('')", "io.StringIO('{\"a\": [1, 2]}')")
_ZONES = ("datetime.timezone.utc", "datetime.timezone(datetime.timedelta(hours=-5, minutes=-30))")
_SIMPLE: Mapping[str, tuple[str, ...]] = {
    "bool": ("True", "False"),
    "float": (*map(repr, FLOATS), "float('inf')", "-float('inf')", "float('nan')", "3"),
    "complex": ("1j", "(1+2j)", "0j"),
    "bytes": ("b''", "b'abc'", "b'\\x00\\xff'", "b'hello world'"),
    "bytearray": ("bytearray()", "bytearray(b'abc')"),
    "memoryview": ("memoryview(b'abc')",),
    "None": ("None",),
    "NoneType": ("None",),
    "object": ("1", "'a'", "None", "(1, 2)"),
    "Any": ("1", "'abc'", "None", "[1, 2]", "{'a': 1}", "0.5", "True", "0", "''", "[]"),
    "Hashable": ("1", "'a'", "(1, 2)", "None"),
    "type": (
        *("int", "str", "list", "dict", "typing.List[int]", "typing.Optional[int]", "typing.Union[int, str]"),
        *("typing.Dict[str, int]", "typing.Tuple[int, ...]", "typing.Any", "typing.Literal['a', 1]", "float"),
        "dataclasses.make_dataclass('Item', [('a', int), ('b', str, 'x')])",
    ),
    "Number": ("1", "0", "-2", "0.5"),
    "Decimal": ("Decimal('0')", "Decimal('1.5')", "Decimal('-2')", "Decimal('100')"),
    "Fraction": ("Fraction(1, 3)", "Fraction(0, 1)", "Fraction(-5, 2)"),
    "date": ("datetime.date(2024, 2, 29)", "datetime.date(1999, 12, 31)", "datetime.date(1970, 1, 1)"),
    "datetime": (
        "datetime.datetime(2024, 2, 29, 12, 30, 45)",
        "datetime.datetime(1999, 12, 31, 23, 59, 59, 999999)",
        "datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)",
    ),
    "time": ("datetime.time(0, 0)", "datetime.time(12, 30, 45)"),
    "timedelta": (
        "datetime.timedelta(0)",
        "datetime.timedelta(seconds=1)",
        "datetime.timedelta(days=1, hours=2)",
        "datetime.timedelta(days=-3)",
        "datetime.timedelta(days=400)",
        "datetime.timedelta(milliseconds=4)",
    ),
    "tzinfo": _ZONES,
    "timezone": _ZONES,
    "Pattern": ("re.compile('a')", "re.compile('[0-9]+')"),
    "Path": (*FILES, "PurePosixPath('a/b.txt')", "PurePosixPath('a')"),
    "PurePath": ("PurePosixPath('a/b.txt')", "PurePosixPath('a')"),
    "PathLike": (*FILES, "PurePosixPath('a/b.txt')", "PurePosixPath('a')"),
    "filename": tuple(f"str({file})" for file in FILES),
    "UUID": ("UUID(int=0)", "UUID(int=1)"),
    "StringIO": _STREAMS,
    "TextIO": _STREAMS,
    "BytesIO": ("io.BytesIO(b'a b\\nc\\n')",),
    "BinaryIO": ("io.BytesIO(b'a b\\nc\\n')",),
    "IO": _STREAMS,
    "Element": (
        "fromstring('<div/>')",
        "fromstring('<div><p>a</p></div>')",
        "fromstring('<div><p>a</p><p class=\"b\">c<em>d</em>e</p>f</div>')",
        "fromstring('<ul><li>a</li><li><p>b</p></li></ul>')",
        "fromstring('<p>a b</p>')",
    ),
    "Match": ("re.search('a', 'abc')", "re.search('(b)(x)?', 'abc')", "re.match('', '')"),
    "slice": ("slice(None)", "slice(1, 2)", "slice(0, 3)", "slice(1, None)", "slice(None, 2)", "slice(5, 6)"),
    "Exception": ("ValueError('a')",),
    "BaseException": ("ValueError('a')",),
}
IMPORTS: Mapping[str, tuple[str, str]] = {
    "Decimal": ("decimal", "Decimal"),
    "Fraction": ("fractions", "Fraction"),
    "datetime": ("datetime", ""),
    "date": ("datetime", "date"),
    "timedelta": ("datetime", "timedelta"),
    "timezone": ("datetime", "timezone"),
    "re": ("re", ""),
    "os": ("os", ""),
    "io": ("io", ""),
    "PurePosixPath": ("pathlib", "PurePosixPath"),
    "UUID": ("uuid", "UUID"),
    "operator": ("operator", ""),
    "itertools": ("itertools", ""),
    "math": ("math", ""),
    "ast": ("ast", ""),
    "typing": ("typing", ""),
    "dataclasses": ("dataclasses", ""),
    "asyncio": ("asyncio", ""),
    "fromstring": ("xml.etree.ElementTree", "fromstring"),
    "tostring": ("xml.etree.ElementTree", "tostring"),
    "MagicMock": ("unittest.mock", "MagicMock"),
    "AsyncMock": ("unittest.mock", "AsyncMock"),
    "SimpleNamespace": ("types", "SimpleNamespace"),
}
"""The names that expressions may use beside the module's own."""

_LISTS = ("list", "List", "Sequence", "MutableSequence", "Iterable", "Collection", "Container", "Reversible", "deque")
_SETS = ("set", "Set", "AbstractSet", "MutableSet", "KeysView")
_MAPPINGS = ("dict", "Dict", "Mapping", "MutableMapping", "OrderedDict", "defaultdict", "Counter", "ChainMap")
_CALLABLES: Mapping[int, tuple[str, ...]] = {
    0: ("int", "list", "lambda: 1"),
    1: ("str", "bool", "len", "abs", "lambda x: x", "lambda x: True", "lambda x: x > 1"),
    2: ("max", "operator.add", "operator.mul", "lambda a, b: a"),
}
_WRAPPERS = ("Final", "Annotated", "Required", "NotRequired", "ReadOnly", "ClassVar", "Awaitable")


@dataclass(frozen=True)
class ValueSources:
    """The sources of values besides the type: all in the order of preference."""

    survey: Survey
    strings: tuple[str, ...] = ()
    numbers: tuple[int | float, ...] = ()
    instances: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """Expressions that build an object of each class of the module."""
    members: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """The members of each enumeration of the module."""
    classes: Mapping[str, ast.ClassDef] = field(default_factory=dict[str, ast.ClassDef])
    """The classes of other modules of the repository."""
    attributes: Mapping[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    """The names that objects of each class have that can be built."""


def expressions(annotation: ast.expr, sources: ValueSources, depth: int = 0) -> list[str]:
    """Expressions of the annotated type, at most 400, the likeliest first; none for a type nothing is known of."""
    found = list(dict.fromkeys(_of(annotation, sources, depth)))
    return found[:_MAX_VALUES] if depth == 0 else found


def expressions_of(kind: str, sources: ValueSources) -> list[str]:
    """As `expressions`, for a type by its name."""
    return expressions(parse_expression(kind), sources)


def _of(annotation: ast.expr, sources: ValueSources, depth: int) -> Iterable[str]:  # noqa: PLR0911 - one case for each kind
    if depth > _MAX_DEPTH:
        return ()
    match annotation:
        case ast.Constant(value=str() as text):
            return _of_text(text, sources, depth)
        case ast.Constant(value=None):
            return ("None",)
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return interleaved(_of(left, sources, depth), _of(right, sources, depth))
        case ast.Subscript(value=value, slice=inner):
            return _generic(last_name(value), inner, sources, depth)
        case ast.Name() | ast.Attribute():
            return _named(last_name(annotation), sources, depth)
        case ast.Call(func=func, args=[_, *constraints], keywords=words) if last_name(func) == "TypeVar":
            bound = [word.value for word in words if word.arg == "bound"]
            return interleaved(*(_of(one, sources, depth + 1) for one in [*constraints, *bound])) or _SIMPLE["Any"]
        case _:
            return ()


def _of_text(text: str, sources: ValueSources, depth: int) -> Iterable[str]:
    try:
        return _of(parse_expression(text), sources, depth)
    except SyntaxError:
        return ()


def _named(name: str, sources: ValueSources, depth: int) -> Iterable[str]:  # noqa: PLR0911 - one case for each kind
    if name not in BUILTIN_NAMES and (instances := instances_of(name, sources)):
        return instances
    if sources.members.get(name):
        return sources.members[name]
    if name in sources.survey.aliases:
        return _of(sources.survey.aliases[name], sources, depth + 1)
    if name in ("str", "AnyStr", "LiteralString", "Text"):
        return _strings(sources)
    if name in ("int", "SupportsInt", "SupportsIndex", "Integral"):
        return _integers(sources)
    if name in ("float", "SupportsFloat", "Real"):
        return interleaved(_SIMPLE["float"], _floats(sources), map(str, _whole(sources)))
    if name in _SIMPLE:
        # In such a module `datetime` is the class, and `datetime.date` one of its methods.
        dates_by_name = sources.survey.imported.get("datetime") == "datetime.datetime"
        return [text.replace("datetime.", "") for text in _SIMPLE[name]] if dates_by_name else _SIMPLE[name]
    if name in FORMS:
        return FORMS[name]
    if sources.survey.imported.get("ast") == "ast" and name in NODES:
        return NODES[name]
    anything = ast.Name("Any")
    if name in (*_LISTS, *_SETS, *_MAPPINGS, "tuple", "Tuple", "frozenset", "Iterator", "Generator"):
        inner = ast.Tuple([ast.Name("str"), ast.Name("int")]) if name in _MAPPINGS else anything
        return _generic(name, inner, sources, depth)
    if name == "Callable":
        return [text for texts in _CALLABLES.values() for text in texts]
    return ()


def instances_of(name: str, sources: ValueSources) -> list[str]:
    """Expressions that build objects of the class *name* or of a class derived from it."""
    found: list[str] = []
    waiting, known = [name], {name}
    for kind in waiting:
        found += sources.instances.get(kind, ())
        for other, node in [*sources.survey.classes.items(), *sources.classes.items()]:
            if other not in known and any(last_name(base) == kind for base in node.bases):
                waiting.append(other)
                known.add(other)
    return list(dict.fromkeys(found))


def _generic(name: str, inner: ast.expr, sources: ValueSources, depth: int) -> Iterable[str]:  # noqa: C901, PLR0911 - one case for each kind
    parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]

    def of(part: ast.expr) -> list[str]:
        return list(_of(part, sources, depth + 1))

    def within(part: ast.expr) -> list[str]:
        """Return values for an element of a container; where nothing is known of its type, values of any type."""
        return of(part) or list(_SIMPLE["Any"])

    match name:
        case "Optional":
            return interleaved(of(parts[0]), ["None"])
        case "Union":
            return interleaved(*(of(part) for part in parts))
        case "Literal":
            return [ast.unparse(part) for part in parts]
        case "Callable":
            return _callables(parts)
        case "Type" | "type":
            return _SIMPLE["type"]
        case "tuple" | "Tuple":
            return _tuples(parts, of)
        case _ if name in _WRAPPERS:
            return of(parts[0])
        case _ if name in _SETS or name in ("frozenset", "FrozenSet"):
            return [_as_set(items, name) for items in _groups(within(parts[0]))]
        case _ if name in _MAPPINGS and len(parts) == 2:
            return _mappings(within(parts[0]), within(parts[1]))
        case "Iterator" | "Generator" | "AsyncIterator":
            return [f"iter([{', '.join(items)}])" for items in _groups(within(parts[0]))]
        case _ if name in _LISTS:
            return [f"[{', '.join(items)}]" for items in _groups(within(parts[0]))]
        case _:
            return _named(name, sources, depth)


def _callables(parts: list[ast.expr]) -> Iterable[str]:
    arguments = parts[0]
    if isinstance(arguments, ast.List):
        return _CALLABLES.get(len(arguments.elts), ())
    return [text for texts in _CALLABLES.values() for text in texts]


def _tuples(parts: list[ast.expr], of: Callable[[ast.expr], list[str]]) -> list[str]:
    if len(parts) == 2 and isinstance(parts[1], ast.Constant) and parts[1].value is Ellipsis:
        return [_as_tuple(items) for items in _groups(of(parts[0]))]
    if len(parts) == 1 and last_name(parts[0]) == "Any":
        return [_as_tuple(items) for items in _groups(of(parts[0]))]
    columns = [of(part) for part in parts]
    if not all(columns):
        return []
    return [_as_tuple([column[row % len(column)] for column in columns]) for row in range(max(map(len, columns)))]


def _as_tuple(items: list[str]) -> str:
    return f"({', '.join(items)}{',' if len(items) == 1 else ''})"


def _as_set(items: list[str], name: str) -> str:
    joined = "{" + ", ".join(items) + "}" if items else ""
    return f"frozenset({joined})" if name in ("frozenset", "FrozenSet") else joined or "set()"


def _groups(items: list[str]) -> Iterable[list[str]]:
    """Groups of none, one, two and more of *items*, with repetitions and in both orders."""
    yield []
    if not items:
        return
    yield items[:3]
    yield items[:1]
    yield list(reversed(items[:3]))
    yield [items[0], items[-1], items[0]]
    yield items[1:6]
    yield items[:8]
    for start in range(2, min(len(items), 14), 2):
        yield items[start : start + 2]


def _mappings(keys: list[str], values: list[str]) -> Iterable[str]:
    if not keys or not values:
        return
    for size in (1, 0, 2, 3):
        pairs = (f"{key}: {values[place % len(values)]}" for place, key in enumerate(keys[:size]))
        yield "{" + ", ".join(pairs) + "}"
    for key, value in zip(keys[3:9], values[1:7], strict=False):
        yield "{" + f"{key}: {value}" + "}"


def _strings(sources: ValueSources) -> list[str]:
    return interleaved(map(repr, sources.strings), map(repr, STRINGS))


def _integers(sources: ValueSources) -> list[str]:
    near = [number + step for number in _whole(sources) for step in (0, -1, 1)]
    return [repr(number) for number in dict.fromkeys((*INTEGERS[:6], *near, *INTEGERS[6:]))]


def _whole(sources: ValueSources) -> list[int]:
    return [number for number in sources.numbers if isinstance(number, int)]


def _floats(sources: ValueSources) -> list[str]:
    return [repr(number) for number in sources.numbers if isinstance(number, float)]


def interleaved(*groups: Iterable[str]) -> list[str]:
    """Return the members of all *groups* in turn, each once."""
    columns = [list(group) for group in groups]
    longest = max(map(len, columns), default=0)
    turns = (column[row] for row in range(longest) for column in columns if row < len(column))
    return list(dict.fromkeys(turns))


def rows_of(values: Mapping[str, Sequence[str]]) -> Iterator[dict[str, str]]:
    """Yield a value for each name, until each value was there; none where a name has no value."""
    if all(values.values()):
        for row in range(max(map(len, values.values()), default=1)):
            yield {name: each[row % len(each)] for name, each in values.items()}
