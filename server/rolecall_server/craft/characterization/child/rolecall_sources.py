"""Expressions for the values that are seen while tests run. Standard library of Python 3.8 only."""

# pyright: basic, reportMissingImports=false
# It looks at objects of which nothing is known, and finds its other parts beside itself.

from __future__ import annotations

import builtins
import collections
import collections.abc
import datetime
import decimal
import enum
import fractions
import functools
import inspect
import io
import itertools
import math
import pathlib
import re
import sys
import tempfile
import types
import uuid
from typing import Any

import rolecall_describe as describe
import rolecall_files as files
from rolecall_functions import NoSourceError, function_of, lambda_source

_MAX_ITEMS = 40
_MAX_DEPTH = 6
_MAX_TEXT = 400
_MAX_SOURCE = 700
_MAX_STEPS = 10
_MAX_KNOWN = 30_000
_MODULE_NAMES = frozenset(["datetime", "re", "io", "operator", "itertools", "math", "asyncio"])
"""Modules that tests import anyway."""
_NAME = re.compile(r"[^\W\d]\w*")
_PLAIN = (bool, int, float, complex, str, bytes)
_BY_REPR = (range, slice, bytearray)
_FROM_LIBRARY = (decimal.Decimal, fractions.Fraction, uuid.UUID)
_MOMENTS = (datetime.date, datetime.datetime, datetime.time, datetime.timedelta, datetime.timezone)
_COLLECTIONS = (
    *(functools.partial, collections.defaultdict, collections.OrderedDict, collections.Counter, collections.deque),
    types.SimpleNamespace,
)
_ITERATORS = (type(iter([])), type(iter(())), type(iter("")), type(iter(range(0))))


class Origin:
    """The origin of an object, and the steps that changed it since."""

    def __init__(self, value: Any, source: str) -> None:
        self.value = value
        self.source = source
        self.steps: list[str] = []
        self.attributes: dict[str, Any] = {}


class Sources:
    """Writes values as expressions in the names of the module under test and of what a test can import."""

    def __init__(self, module: str, root: str) -> None:
        self.module_name = module
        self.root = root
        self.origins: dict[int, Origin] = {}
        self.imports: dict[str, str] = {}
        self._functions: dict[Any, Any] = {}
        self._constants: dict[int, tuple[str, Any]] = {}
        self._n_modules = 0

    @property
    def names(self) -> dict[str, Any]:
        """Return the names of the module under test."""
        return vars(sys.modules[self.module_name]) if self.module_name in sys.modules else {}

    # -- where objects come from

    def knows(self, value: Any) -> bool:
        """Return whether it is known how *value* was built."""
        return id(value) in self.origins

    def remember(self, value: Any, source: str) -> None:
        """Notes that *source* built *value*, which is kept: another object must not get its number."""
        if len(source) <= _MAX_SOURCE and len(self.origins) < _MAX_KNOWN and not isinstance(value, type):
            self.origins[id(value)] = Origin(value, source)

    def add_step(self, value: Any, step: str) -> None:
        """Notes a call that changed *value*; ``{}`` stands for it."""
        origin = self.origins[id(value)]
        if len(origin.steps) < _MAX_STEPS:
            origin.steps.append(step)

    def notice(self, value: Any) -> None:
        """Notes the attributes of *value* that were set since it was last seen."""
        origin = self.origins.get(id(value))
        if origin is None or not origin.attributes:
            return
        for name, now in list(getattr(value, "__dict__", {}).items()):
            # `origin` stands for an attribute that was not there; `None` may be the value of one.
            if not name.startswith("_") and origin.attributes.get(name, origin) is not now:
                try:
                    self.add_step(value, f"setattr({{}}, {name!r}, {self.write(now)})")
                except NoSourceError:
                    continue
        self.settle(value)

    def settle(self, value: Any) -> None:
        """Notes the attributes of *value* as they are."""
        self.origins[id(value)].attributes = dict(getattr(value, "__dict__", {}))

    def is_own(self, value: Any) -> bool:
        """Return whether *value* is an object of the workspace's own classes."""
        return describe.is_own(value, self.root)

    def state(self, value: Any) -> str | None:
        """Return what a call may change of *value*."""
        return describe.state(value) if self.knows(value) else None

    def function_of(self, code: Any) -> Any:
        """Return the function with that code, from the top of its module.

        Raises:
            NoSourceError: it is not found there.
        """
        if code not in self._functions:
            self._functions[code] = function_of(code)
        found = self._functions[code]
        if found is None:
            raise NoSourceError
        return found

    def defaults_of(self, code: Any) -> dict[str, Any]:
        """Return the default of each parameter that has one."""
        try:
            function = inspect.unwrap(self.function_of(code))
        except NoSourceError:
            return {}
        plain = code.co_varnames[: code.co_argcount]
        given = getattr(function, "__defaults__", None) or ()
        found = dict(zip(plain[len(plain) - len(given) :], given))  # noqa: B905 - strict= is not known to Python 3.9
        found.update(getattr(function, "__kwdefaults__", None) or {})
        return found

    def imports_in(self, text: str) -> dict[str, str]:
        """Return the module of each name in *text* that has to be imported."""
        return {name: self.imports[name] for name in set(_NAME.findall(text)) if name in self.imports}

    # -- expressions

    def write(self, value: Any, depth: int = 0) -> str:
        """Return *value* as an expression.

        Raises:
            NoSourceError: it has none.
        """
        written = self._write(value, depth)
        if len(written) > _MAX_SOURCE or self.root.rstrip("/") in written:
            raise NoSourceError
        return written

    def _write(self, value: Any, depth: int) -> str:  # noqa: PLR0911 - one way out for each kind of value
        if depth > _MAX_DEPTH:
            raise NoSourceError
        kind = type(value)
        if kind is str and self._is_temporary(value):
            return f"str({self._file(pathlib.Path(value))})"
        if value is None or value is Ellipsis or kind in _PLAIN:
            return _plain_source(value, kind)
        if kind in (list, tuple, set, frozenset, dict):
            return self._container(value, kind, depth)
        constant = self._constant(value)  # first: it may be what is asked for by ``is``
        if constant:
            return constant
        origin = self.origins.get(id(value))
        if origin is not None:
            return _with_steps(origin)
        if isinstance(value, enum.Enum):
            return f"{self._named(kind)}{describe.member(value)}"
        if isinstance(value, (type, types.FunctionType, types.BuiltinFunctionType, functools._lru_cache_wrapper)):
            return self._named(value)
        if isinstance(value, types.ModuleType):
            if value.__name__ in _MODULE_NAMES and self.names.get(value.__name__, value) is value:
                return value.__name__
            raise NoSourceError
        return self._of_library(value, kind, depth)

    def _container(self, value: Any, kind: type, depth: int) -> str:
        if len(value) > _MAX_ITEMS:
            raise NoSourceError
        if kind is dict:
            pairs = (f"{self.write(k, depth + 1)}: {self.write(v, depth + 1)}" for k, v in value.items())
            return "{" + ", ".join(pairs) + "}"
        items = [self.write(item, depth + 1) for item in value]
        if kind is list:
            return "[" + ", ".join(items) + "]"
        if kind is tuple:
            return "(" + ", ".join(items) + ("," if len(items) == 1 else "") + ")"
        joined = "{" + ", ".join(sorted(items)) + "}" if items else ""
        return (joined or "set()") if kind is set else f"frozenset({joined})"

    def _named(self, value: Any) -> str:
        """Return the name of a class or function, which a test can import."""
        name = getattr(value, "__qualname__", "")
        if name == "<lambda>":
            return lambda_source(value)
        first = name.partition(".")[0]
        if getattr(builtins, name, None) is value:
            return name
        if self._found(self.names, name) is value:
            return name
        module = getattr(value, "__module__", None) or ""
        if not first.isidentifier() or first in self.names or hasattr(builtins, first) or not self._importable(module):
            raise NoSourceError
        if self._found(vars(sys.modules[module]), name) is not value:
            raise NoSourceError
        package = self._package_with(first, module)
        if self.imports.setdefault(first, package) != package:
            raise NoSourceError
        return name

    @staticmethod
    def _package_with(name: str, module: str) -> str:
        """Return the outermost package that has *name* of *module* under the same name: where people import it from."""
        parts = module.split(".")
        value = vars(sys.modules[module])[name]
        for length in range(1, len(parts)):
            package = sys.modules.get(".".join(parts[:length]))
            if getattr(package, name, None) is value:
                return ".".join(parts[:length])
        return module

    @staticmethod
    def _found(names: dict[str, Any], name: str) -> Any:
        first, *rest = name.split(".")
        found = names.get(first)
        for part in rest:
            found = getattr(found, part, None)
        return found

    def _importable(self, module: str) -> bool:
        """Return whether a test may import *module*: it is there, and no test itself."""
        found = sys.modules.get(module)
        path = str(getattr(found, "__file__", None) or "")
        if found is None or module in ("__main__", "example", "builtins"):
            return False
        parts = module.split(".")
        tests = any(part in ("test", "tests", "conftest") or part.startswith("test_") for part in parts)
        return not tests and not ("/tests/" in path or path.rpartition("/")[2].startswith("test_"))

    def _constant(self, value: Any) -> str:
        """Return the name of an object that a module of the workspace has at its top; empty where none has."""
        if not self.is_own(value):
            return ""
        # All modules are looked through only once more whenever something was imported.
        if self._n_modules != len(sys.modules):
            self._n_modules = len(sys.modules)
            for name, module in list(sys.modules.items()):
                if str(getattr(module, "__file__", None) or "").startswith(self.root) and self._importable(name):
                    for word, one in list(vars(module).items()):
                        if not word.startswith("_") and self.is_own(one):
                            self._constants.setdefault(id(one), (f"{name}:{word}", one))
        place, one = self._constants.get(id(value), ("", None))
        if one is not value or not place:
            return ""
        module_name, _, word = place.partition(":")
        if self.names.get(word) is value:
            return word
        if word in self.names or self.imports.setdefault(word, module_name) != module_name:
            return ""
        return word

    def _of_library(self, value: Any, kind: type, depth: int) -> str:  # noqa: PLR0911 - one way out for each kind
        if kind in _BY_REPR:
            return repr(value)
        if kind in _FROM_LIBRARY:
            return self._named(kind) + repr(value)[len(kind.__name__) :]
        if kind in _MOMENTS and self.names.get("datetime", datetime) is datetime:
            return repr(value)
        if isinstance(value, re.Pattern):
            flags = f", {value.flags & ~re.UNICODE}" if value.flags & ~re.UNICODE else ""
            return f"re.compile({value.pattern!r}{flags})"
        if isinstance(value, pathlib.PurePath):
            return self._path(value)
        if kind in (io.StringIO, io.BytesIO):
            return f"io.{kind.__name__}({self.write(value.getvalue(), depth + 1)})"
        if kind in _ITERATORS or kind in _COLLECTIONS:
            return self._collection(value, kind, depth)
        if isinstance(value, BaseException) and kind.__init__ in (BaseException.__init__, Exception.__init__):
            return f"{self._named(kind)}({', '.join(self.write(one, depth + 1) for one in value.args)})"
        if isinstance(value, types.MethodType):
            return f"{self.write(value.__self__, depth + 1)}.{value.__name__}"
        if isinstance(value, itertools.count):
            return f"itertools.{value!r}"
        return self._record(value, kind, depth)

    def _is_temporary(self, path: str) -> bool:
        """Return whether *path* is below the folder for what is temporary, and no part of the workspace."""
        return path.startswith(f"{tempfile.gettempdir()}/") and not path.startswith(self.root)

    def _path(self, value: Any) -> str:
        if isinstance(value, pathlib.Path) and self._is_temporary(str(value)):
            return self._file(value)
        if value.is_absolute():
            raise NoSourceError
        name = "Path" if isinstance(value, pathlib.Path) else "PurePosixPath"
        return f"{self._named(getattr(pathlib, name))}({str(value)!r})"

    def _file(self, path: pathlib.Path) -> str:
        """Return a file or folder that a test made for itself, with what is in it."""
        written = files.made(path) if "\n" not in str(path) else None
        if written is None:
            raise NoSourceError
        return written

    def _collection(self, value: Any, kind: Any, depth: int) -> str:
        if kind in _ITERATORS:
            return f"iter({self.write(list(value.__reduce__()[1][0]), depth + 1)})"
        if kind is functools.partial:
            words = "".join(f", {name}={self.write(one, depth + 1)}" for name, one in value.keywords.items())
            given = "".join(f", {self.write(one, depth + 1)}" for one in value.args)
            return f"{self._named(functools.partial)}({self.write(value.func, depth + 1)}{given}{words})"
        if kind is collections.defaultdict:
            return f"{self._named(kind)}({self.write(value.default_factory)}, {self.write(dict(value), depth + 1)})"
        if kind in (collections.OrderedDict, collections.Counter):
            return f"{self._named(kind)}({self.write(dict(value), depth + 1)})"
        if kind is collections.deque:
            return f"{self._named(kind)}({self.write(list(value), depth + 1)})"
        return f"{self._named(kind)}({self._words(vars(value), depth)})"

    def _record(self, value: Any, kind: Any, depth: int) -> str:
        """Return an object by its fields."""
        if hasattr(kind, "__dataclass_fields__"):
            fields = [field.name for field in kind.__dataclass_fields__.values() if field.init]
            known = {name: getattr(value, name) for name in fields if hasattr(value, name)}
            return f"{self._named(kind)}({self._words(known, depth)})"
        if hasattr(kind, "__attrs_attrs__"):
            known = {one.name.lstrip("_"): getattr(value, one.name) for one in kind.__attrs_attrs__ if one.init}
            return f"{self._named(kind)}({self._words(known, depth)})"
        fields: Any = getattr(kind, "_fields", None)
        if fields is not None and issubclass(kind, tuple):
            return f"{self._named(kind)}({self._words(dict(zip(fields, value)), depth)})"  # noqa: B905 - as above
        base: Any
        for base in (str, int, float, list, tuple, dict, set):
            if isinstance(value, base) and not getattr(value, "__dict__", None) and kind.__init__ is base.__init__:
                return f"{self._named(kind)}({self.write(base(value), depth + 1)})"
        if self.is_own(value) and kind.__init__ is object.__init__ and not getattr(value, "__dict__", None):
            return f"{self._named(kind)}()"
        if "site-packages" in _file_of(kind) or self.is_own(value):
            return self._by_state(value, kind, depth)
        raise NoSourceError

    def _by_state(self, value: Any, kind: Any, depth: int) -> str:
        """Return an object as what its class builds from nothing, with the public attributes that it has."""
        named = self._named(kind)
        if isinstance(value, collections.abc.Mapping):
            plain = dict(value)
            if kind(plain) == value:
                return f"{named}({self.write(plain, depth + 1)})"
        try:
            fresh = vars(kind())
        except Exception:  # noqa: BLE001
            raise NoSourceError from None
        differing = {
            name: one
            for name, one in vars(value).items()
            if not name.startswith("_") and not describe.same(fresh.get(name, self), one)
        }
        if len(differing) > _MAX_STEPS or fresh.keys() - vars(value).keys():
            raise NoSourceError
        origin = Origin(value, f"{named}()")
        origin.steps = [f"setattr({{}}, {name!r}, {self.write(one, depth + 1)})" for name, one in differing.items()]
        return _with_steps(origin)

    def _words(self, known: dict[str, Any], depth: int) -> str:
        return ", ".join(f"{name}={self.write(one, depth + 1)}" for name, one in known.items())


def _plain_source(value: Any, kind: type) -> str:
    if kind in (str, bytes) and len(value) > _MAX_TEXT:
        raise NoSourceError
    if kind is float and math.isnan(value):
        return "float('nan')"
    if kind is float and math.isinf(value):
        return "float('inf')" if value > 0 else "-float('inf')"
    return repr(value)


def _file_of(kind: type) -> str:
    return str(getattr(sys.modules.get(kind.__module__), "__file__", None) or "")


def _with_steps(origin: Origin) -> str:
    """Return the expression that builds an object and changes it as the tests do."""
    if not origin.steps:
        return origin.source
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", type(origin.value).__name__).lower().strip("_")
    name = words if words.isidentifier() and not hasattr(builtins, words) else "made"
    before = {word for text in [origin.source, *origin.steps] for word in _NAME.findall(text)}
    while name in before:
        name += "_"
    steps = [step.replace("{}", name, 1) for step in origin.steps]
    return f"[({name} := {origin.source}), {', '.join(steps)}, {name}][-1]"
