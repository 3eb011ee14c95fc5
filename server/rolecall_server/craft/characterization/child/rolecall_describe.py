"""Values as source text that a test can hold them to. Standard library of Python 3.8 only."""

# pyright: basic, reportMissingImports=false
# It looks at objects of which nothing is known.

from __future__ import annotations

import collections
import contextlib
import datetime
import decimal
import enum
import fractions
import io
import itertools
import keyword
import math
import pathlib
import re
import sys
import uuid
from typing import Any

from rolecall_files import Folder

folder = Folder()
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{6,}|Mock (?:name='[^']{0,200}' )?id='\d+'")
_MAX_LITERAL = 800
_MAX_ATTRIBUTES = 14
_MAX_DEEP = 40
_MAX_DEPTH = 3
_MAX_ITEMS = 3
_FROM_LIBRARY = {
    decimal.Decimal: "decimal",
    fractions.Fraction: "fractions",
    uuid.UUID: "uuid",
}
_FROM_DATETIME = (datetime.date, datetime.datetime, datetime.time, datetime.timedelta, datetime.timezone)
_BASES = (bool, int, float, complex, str, bytes, list, tuple, dict, set, frozenset)


class _NoLiteralError(Exception):
    pass


class _Writer:
    """Turns values into source, and remembers what that source has to import."""

    def __init__(self, names: dict[str, Any]) -> None:
        self.names = names
        self.imports: dict[str, str] = {}

    def write(self, value: Any, depth: int = 0) -> str:  # noqa: PLR0911 - one way out for each kind of value
        if depth > 6:
            raise _NoLiteralError
        kind = type(value)
        if isinstance(value, pathlib.PurePath) or (kind is str and folder.is_named_in(value)):
            return self._path(value)
        if value is None or value is Ellipsis or kind in (bool, int, str, bytes):
            return repr(value)
        if kind is float:
            return self._float(value)
        if kind is complex:
            if math.isnan(value.real) or math.isnan(value.imag):
                raise _NoLiteralError
            return repr(value)
        if kind in (list, tuple, set, frozenset, dict):
            return self._container(value, kind, depth)
        if isinstance(value, enum.Enum):
            return self._named(kind, f"{{}}{member(value)}", value)
        if isinstance(value, type) or callable(value):
            return self._function(value)
        if kind in _FROM_LIBRARY:
            self.imports[kind.__name__] = _FROM_LIBRARY[kind]
            return repr(value)
        if kind in _FROM_DATETIME:
            return self._moment(value)
        return self._object(value, kind)

    def _path(self, value: Any) -> str:
        """Return a path in the folder of a call, or one that does not lie on this machine."""
        written = folder.written(value)
        if written is not None:
            return written
        kind = pathlib.Path if isinstance(value, pathlib.Path) else type(value)
        if isinstance(value, str) or _is_here(value) or self.names.get(kind.__name__, kind) is not kind:
            raise _NoLiteralError
        self.imports[kind.__name__] = "pathlib"
        return f"{kind.__name__}({str(value)!r})"

    def _float(self, value: float) -> str:
        if math.isnan(value):
            raise _NoLiteralError
        if math.isinf(value):
            return "float('inf')" if value > 0 else "-float('inf')"
        return repr(value)

    def _moment(self, value: Any) -> str:
        """Return a date or time, written by the module's own name for it."""
        written = repr(value)
        zone = getattr(value, "tzinfo", None)
        if type(zone).__module__ == "zoneinfo":
            self.imports["zoneinfo"] = ""
        elif zone is not None and type(zone) is not datetime.timezone:
            raise _NoLiteralError
        if self.names.get("datetime") is datetime:
            self.imports["datetime"] = ""
            return written
        self.imports.update((name, "datetime") for name in re.findall(r"datetime\.(\w+)", written))
        return written.replace("datetime.", "")

    def _container(self, value: Any, kind: type, depth: int) -> str:
        if len(value) > 60:
            raise _NoLiteralError
        if kind is dict:
            pairs = (f"{self.write(k, depth + 1)}: {self.write(v, depth + 1)}" for k, v in value.items())
            return "{{{}}}".format(", ".join(pairs))
        items = [self.write(item, depth + 1) for item in value]
        if kind is list:
            return "[" + ", ".join(items) + "]"
        if kind is tuple:
            return "({}{})".format(", ".join(items), "," if len(items) == 1 else "")
        # Sorted, as a set has another order in each process.
        joined = "{{{}}}".format(", ".join(sorted(items))) if items else ""
        return (joined or "set()") if kind is set else f"frozenset({joined})"

    def _named(self, kind: type, template: str, value: Any) -> str:
        if self.names.get(kind.__name__) is not kind:
            raise _NoLiteralError
        return template.format(kind.__name__)

    def _function(self, value: Any) -> str:
        name = getattr(value, "__name__", "")
        builtin = __builtins__ if isinstance(__builtins__, dict) else vars(__builtins__)
        if name.isidentifier() and (self.names.get(name) is value or builtin.get(name) is value):
            return name
        raise _NoLiteralError

    def _object(self, value: Any, kind: type) -> str:
        """Return the `repr` of an object of the workspace that can be read back and compares equal."""
        written = repr(value)
        # Without an `__eq__` of its own an object equals itself alone, and never what a test builds.
        if kind.__eq__ is object.__eq__ or _ADDRESS.search(written) or len(written) > _MAX_LITERAL:
            raise _NoLiteralError
        if not written.startswith(kind.__name__ + "(") or self.names.get(kind.__name__) is not kind:
            raise _NoLiteralError
        try:
            again = eval(written, dict(self.names))  # noqa: S307
            if type(again) is kind and bool(again == value) and bool(value == again) and repr(again) == written:
                return written
        except Exception as error:
            raise _NoLiteralError from error
        raise _NoLiteralError


def member(value: enum.Enum) -> str:
    """Return what follows the name of an enumeration to give *value*: ``.READ``, or ``(3)`` for flags that are set
    together, or none of them, which have no name of their own.
    """
    name = str(value.name)
    return f".{name}" if name.isidentifier() and not keyword.iskeyword(name) else f"({value.value!r})"


def literal(value: Any, names: dict[str, Any]) -> tuple[str, dict[str, str]] | None:
    """Return *value* as source, and what it imports by name; None where there is no such source."""
    writer = _Writer(names)
    try:
        written = writer.write(value)
    except (_NoLiteralError, RecursionError):
        return None
    except Exception:  # noqa: BLE001 - a repr or a comparison of the workspace's
        return None
    return (written, writer.imports) if len(written) <= _MAX_LITERAL else None


def views(
    value: Any, names: dict[str, Any], root: str, max_items: int, *, whole: bool = True
) -> tuple[list[list[str]], dict[str, str]]:
    """Return expressions by which a test can look at *value*, and their imports: the value itself where it has a
    literal and is wanted *whole*, else what can be read off it.
    """
    imports: dict[str, str] = {}
    found: list[list[str]] = []

    def look(template: str, part: Any) -> bool:
        written = literal(part, names)
        # Paths and addresses of this process are others in the next.
        if written is None or names_place(written[0], root) or _ADDRESS.search(written[0]):
            return False
        found.append([template, written[0]])
        imports.update(written[1])
        return True

    if _is_of_process(value):
        return [], {}
    if isinstance(value, float) and math.isnan(value):
        return [["math.isnan({})", "True"]], {"math": ""}
    if (whole and look("{}", value)) or _look_at_base(value, look):
        return found, imports
    if isinstance(value, str) and names_place(value, root):
        return [], {}  # its length and its beginning are another place's too
    if isinstance(value, (str, bytes, list, tuple)):
        n_shown = 40 if isinstance(value, str) else 3
        look("len({})", len(value))
        look("{}[:%d]" % n_shown, value[:n_shown])  # noqa: UP031 - the braces are for another
    elif is_iterator(value):
        _look_at_items(value, max_items, look)
    elif _is_element(value):
        look("tostring({}, 'unicode')", _written(value))
    else:
        _look_at_object(value, look)
        _look_inside(value, root, found, look)
        if not found and not whole:
            look("{}", value)
        found += [] if found else _kind(value, names)
    return found, {**imports, **imports_of(found)}


def _is_of_process(value: Any) -> bool:
    """Return whether *value* is a file outside of the folder of a call, as standard output is: it is another one where
    a test runs.
    """
    if not isinstance(value, io.IOBase) or isinstance(value, (io.StringIO, io.BytesIO)):
        return False
    return not folder.is_named_in(str(getattr(value, "name", "")))


def imports_of(found: list[list[str]]) -> dict[str, str]:
    """Return what the expressions in *found* import to look at elements and at what has no end."""
    imports = {}
    if any("tostring(" in view for view, _ in found):
        imports["tostring"] = "xml.etree.ElementTree"
    if any("os." in view for view, _ in found):
        imports["os"] = ""
    if any("Path({})" in view for view, _ in found):
        imports["Path"] = "pathlib"
    if any("itertools." in view for view, _ in found):
        imports["itertools"] = ""
    return imports


def _look_at_base(value: Any, look: Any) -> bool:
    """Look at an object that equals a value of a type it is derived from; return whether that value can be written."""
    base: Any = next((kind for kind in _BASES if isinstance(value, kind)), None)
    if base is None or type(value) is base or is_enumeration(type(value)):
        return False
    plain: Any = base(value)
    return _equal(plain, value) and look("{}", plain)


def _look_at_items(iterator: Any, max_items: int, look: Any) -> None:
    items = list(itertools.islice(iterator, max_items + 1))
    if len(items) <= max_items:
        look("list({})", items)
    else:
        look("list(itertools.islice({}, 5))", items[:5])


def _look_inside(value: Any, root: str, found: list[list[str]], look: Any) -> None:
    """Look at what the attributes of *value* hold that cannot be written themselves."""
    known = [template for template, _ in found if template.startswith("{}.")]
    for template, part in inner_values(value, root):
        told = any(part_of in template for part_of in known)
        if len(found) < _MAX_ATTRIBUTES and not told:
            look(template, part)


def _kind(value: Any, names: dict[str, Any]) -> list[list[str]]:
    """Return how a test asks for the type of an object of which nothing else can be told."""
    kind = type(value)
    if isinstance(value, type) or kind.__module__ == "builtins":
        return []
    if names.get(kind.__name__) is kind:
        return [[f"isinstance({{}}, {kind.__name__})", "True"]]
    return [["type({}).__name__", repr(kind.__name__)]]


def is_of_kind(view: list[str]) -> bool:
    """Return whether a view tells nothing but the type of a value."""
    return view[0].startswith(("isinstance(", "type("))


def inner_values(value: Any, root: str) -> list[tuple[str, Any]]:
    """Return expressions for what can be read off an object of the workspace below *root* and off the objects it holds,
    and what each gives: plain values, the lengths of containers, the text of elements.
    """
    found: list[tuple[str, Any]] = []
    waiting, seen = [("{}", value, 0)], {id(value)}
    for template, each, depth in waiting:
        for below, part in _below(template, each, root):
            if _is_element(part):
                found.append((f"tostring({below}, 'unicode')", _written(part)))
            elif part is None or isinstance(part, (bool, int, float, str, bytes)):
                found.append((below, part))
            elif not callable(part) and id(part) not in seen and depth < _MAX_DEPTH:
                seen.add(id(part))
                if hasattr(type(part), "__len__"):
                    with contextlib.suppress(Exception):
                        found.append((f"len({below})", len(part)))
                waiting.append((below, part, depth + 1))
        if len(found) > _MAX_DEEP:
            break
    return found[:_MAX_DEEP]


def _below(template: str, value: Any, root: str) -> list[tuple[str, Any]]:
    if isinstance(value, (list, tuple)):
        return [(f"{template}[{place}]", part) for place, part in enumerate(value[:_MAX_ITEMS])]
    if isinstance(value, dict):
        # A template has braces where the value goes, so that a key must have none.
        keys = [key for key in list(value)[:_MAX_ITEMS] if type(key) in (str, int) and "{" not in str(key)]
        return [(f"{template}[{key!r}]", value[key]) for key in keys]
    found: list[tuple[str, Any]] = []
    if is_own(value, root):
        for name in readable(value)[: 2 * _MAX_ATTRIBUTES]:
            with contextlib.suppress(Exception):
                found.append((f"{template}.{name}", getattr(value, name)))
    return found


def is_own(value: Any, root: str) -> bool:
    """Return whether *value* is an object of a class of the workspace below *root*."""
    if isinstance(value, type) or hasattr(value, "__code__"):
        return False
    module = sys.modules.get(type(value).__module__)
    return str(getattr(module, "__file__", None) or "").startswith(root)


def _is_element(value: Any) -> bool:
    return type(value).__name__ == "Element" and type(value).__module__ == "xml.etree.ElementTree"


def _written(element: Any) -> str | None:
    from xml.etree import ElementTree

    with contextlib.suppress(Exception):
        return ElementTree.tostring(element, "unicode")
    return None


def _look_at_object(value: Any, look: Any) -> None:
    kind = type(value)
    if kind in (type, type(_look_at_object)) or kind.__module__ in ("builtins", "functools", "types"):
        return
    for name in readable(value)[:_MAX_ATTRIBUTES]:
        try:
            part = getattr(value, name)
        except Exception:  # noqa: BLE001, S112
            continue
        if not callable(part):
            look(f"{{}}.{name}", part)
    if kind.__str__ is not object.__str__ and not isinstance(value, BaseException):
        _try(look, "str({})", str, value)
    if hasattr(kind, "__len__"):
        _try(look, "len({})", len, value)
        if hasattr(kind, "__iter__"):
            _try(look, "list({})", list, value)


def _try(look: Any, template: str, read: Any, value: Any) -> None:
    with contextlib.suppress(Exception):
        look(template, read(value))


def _is_here(path: pathlib.PurePath) -> bool:
    """Return whether a *path* leads into a folder that this machine has at its root."""
    return path.is_absolute() and (len(path.parts) < 2 or pathlib.Path(*path.parts[:2]).exists())


def names_place(text: str, root: str) -> bool:
    """Return whether *text* names the workspace at *root* or a folder above it, but for the first two, ``/home``."""
    return str(pathlib.PurePath(*pathlib.PurePath(root).parts[:3])) in text


def names_address(text: str) -> bool:
    """Return whether *text* names the address of an object, which is another one in each process."""
    return _ADDRESS.search(text) is not None


def readable(value: Any) -> list[str]:
    """Return the public attributes and properties of an object, its own first."""
    own = list(getattr(value, "__dict__", {}))
    for kind in type(value).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        own += [slots] if isinstance(slots, str) else list(slots)
        own += [name for name, member in kind.__dict__.items() if isinstance(member, property)]
    return [name for name in dict.fromkeys(own) if not name.startswith("_")]


def is_iterator(value: Any) -> bool:
    """Return whether *value* is used up by looking at it."""
    return hasattr(type(value), "__next__") and hasattr(type(value), "__iter__")


def same(one: Any, other: Any) -> bool:
    """Return whether two plain values are of one type and equal."""
    return type(one) is type(other) and one == other


def _equal(one: Any, other: Any) -> bool:
    try:
        return bool(one == other)
    except Exception:  # noqa: BLE001
        return False


def is_enumeration(kind: type) -> bool:
    """Return whether *kind* has members that are named."""
    return issubclass(kind, enum.Enum)


def state(value: Any) -> str | None:
    """Return the part of *value* that a call could change, as text; None if nothing can be changed or seen."""
    if isinstance(value, (list, dict, set, bytearray, collections.deque)):
        return _bounded_repr(value)
    if _is_element(value):
        return _written(value)
    inside = getattr(value, "__dict__", None)
    if isinstance(inside, dict) and not isinstance(value, type) and not callable(value):
        return _ADDRESS.sub("", _bounded_repr(inside) or "")
    return None


def _bounded_repr(value: Any) -> str | None:
    try:
        return repr(value)[:2000]
    except Exception:  # noqa: BLE001
        return None


def clean_message(message: str, root: str) -> str:
    """Return the first line of an exception's text, empty where it names something of this machine."""
    first = message.partition("\n")[0]
    return "" if names_place(first, root) or folder.is_named_in(first) or _ADDRESS.search(first) else first[:200]
