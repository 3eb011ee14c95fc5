"""The likely type of a parameter that has none: by its default, its name, its documentation, its use."""

from __future__ import annotations

import ast
import re

from rolecall_server.craft.characterization.inputs.survey import CallableParameter, CallTarget, last_name
from rolecall_server.craft.characterization.inputs.text_forms import forms_by_name

ANYTHING = "Any"
PLAIN_TYPES = frozenset(
    {
        *("str", "int", "float", "bool", "bytes", "complex", "None", "Optional", "Union", "Literal", "Any", "object"),
        *("list", "tuple", "dict", "set", "frozenset", "List", "Tuple", "Dict", "Set", "Sequence", "Iterable"),
        *("Mapping", "Collection", "datetime", "date", "time", "timedelta", "Path", "PathLike", "Pattern"),
    }
)
"""Types of which values can be written."""
_A_FILE = r"(.*_)?(path|file_?name|fname|file|file_?path|folder|dir|directory|dirname)(_or_.*)?"
_BY_NAME = (
    ("Path", _A_FILE),
    ("filename", _A_FILE),
    ("StringIO", r"(fp|fobj|file_?obj|(in|out)(put)?_?(file|stream)?|stream|buf(fer)?|handle|writer|reader)"),
    ("str", r"(text|string|word|name|msg|message|title|line|prefix|suffix|sep|separator|s|chars?|label|pattern|path)"),
    ("int", r"(n|num|number|count|size|length|width|index|i|k|limit|depth|start|stop|step|ndigits|year|month|day)"),
    ("float", r"(x|y|ratio|rate|value|seconds|weight|price|amount)"),
    (
        "Callable",
        r"(func|function|fn|f|callback|key|predicate|pred|binop|default_factory|wrapped|decorated|hook)",
    ),
    ("list", r"(items?|iterable|iterator|seq|sequence|values|elements|lst|src|data|args|tokens|lists?|xs)"),
    ("dict", r"(mapping|dct|d|kwargs|options|mapper|table)"),
    ("bool", r"((is|has|use|allow|with|keep)_.*|strict|reverse|verbose|case_sensitive|sort(ed)?|unique)"),
    ("bytes", r"(byte_?string|raw)"),
    ("tzinfo", r"tz|tz_?info|time_?zone"),
    ("type", r"(.*_)?(type_|tp|typ|klass|annotation|type_?hint|hint|data_?class)|expected_type"),
    ("AST", r"(.*_)?node|tree"),
)
_STRING_METHODS = frozenset(
    [
        "lower",
        "upper",
        "strip",
        "lstrip",
        "rstrip",
        "split",
        "rsplit",
        "splitlines",
        "replace",
        "startswith",
        "endswith",
        "encode",
        "format",
        "title",
        "capitalize",
        "isdigit",
        "isalpha",
        "isupper",
        "islower",
        "partition",
        "rpartition",
        "zfill",
        "translate",
        "casefold",
        "swapcase",
        "find",
        "rfind",
        "rindex",
        "isspace",
        "isalnum",
        "isidentifier",
        "ljust",
        "rjust",
        "center",
        "expandtabs",
        "removeprefix",
        "removesuffix",
    ]
)
_MAPPING_METHODS = frozenset(["items", "keys", "setdefault", "popitem"])
_LIST_METHODS = frozenset(["append", "extend", "insert", "sort", "reverse"])
_TESTS_OF_FUNCTIONS = ("callable", "isclass", "isfunction", "ismethod", "isroutine", "iscoroutinefunction", "wraps")
_TAKING_FILES = frozenset(
    {
        *("open", "io.open", "codecs.open", "os.open", "gzip.open", "os.listdir", "os.scandir", "os.stat", "os.walk"),
        *("os.path.exists", "os.path.isfile", "os.path.isdir", "os.path.getsize", "Path", "pathlib.Path"),
    }
)
"""Functions that take a file or folder first."""
_AS_FILE = ("filename", "Path")
_WORDS = {
    "str": "str", "string": "str", "unicode": "str", "text": "str", "int": "int", "integer": "int", "float": "float",
    "number": "float", "bool": "bool", "boolean": "bool", "list": "list", "iterable": "list", "sequence": "list",
    "dict": "dict", "mapping": "dict", "callable": "Callable", "function": "Callable", "bytes": "bytes",
    "tuple": "tuple", "set": "set", "datetime": "datetime", "date": "date", "timedelta": "timedelta",
    "tzinfo": "tzinfo", "path": "Path",
}  # fmt: skip


def likely_types(target: CallTarget, parameter: CallableParameter) -> list[str]:
    """Return the names of the types that *parameter* of *target* likely takes, the likeliest first; ``Any`` is last."""
    found = [
        *_documented(target, parameter),
        *_used_as(target, parameter),
        *(_AS_FILE if _is_opened(target, parameter) else ()),
        *_default_type(parameter),
        *types_by_name(parameter.name),
    ]
    return [*dict.fromkeys(found), ANYTHING]


def types_named(annotation: ast.expr) -> set[str]:
    """Return the names of the types in an annotation, a quoted one too: of ``t.Optional[int]`` without the ``t``."""
    nodes = list(ast.walk(annotation))
    quoted = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    modules = {id(node.value) for node in nodes if isinstance(node, ast.Attribute)}
    named = (node for node in nodes if isinstance(node, ast.Attribute | ast.Name) and id(node) not in modules)
    return {last_name(node) for node in named} | {text.rpartition(".")[2] for text in quoted if text.isidentifier()}


def types_by_name(name: str) -> list[str]:
    """Return the names of the types that something called *name* likely has, its forms first."""
    return forms_by_name(name) + [kind for kind, names in _BY_NAME if re.fullmatch(names, name)]


def names_file(parameter: CallableParameter) -> bool:
    """Return whether a parameter is called as one that takes a file or folder."""
    return re.fullmatch(_A_FILE, parameter.name) is not None


def _default_type(parameter: CallableParameter) -> list[str]:
    default = parameter.default
    if isinstance(default, ast.Constant) and default.value is not None:
        return [type(default.value).__name__]
    kinds: dict[type[ast.expr], str] = {ast.List: "list", ast.Tuple: "tuple", ast.Dict: "dict", ast.Lambda: "Callable"}
    return [kind for node, kind in kinds.items() if isinstance(default, node)]


def _documented(target: CallTarget, parameter: CallableParameter) -> list[str]:
    name = re.escape(parameter.name)
    documentation = ast.get_docstring(target.node) or ""
    forms = (
        rf":type {name}: *([^\n]+)",
        rf":param ([^:\n]+?) {name}:",
        rf"^\s*`*{name}`* *\(([^)\n]+)\)",
        rf"^{name} : (.+)",
    )
    said = " ".join(
        match[1] for form in forms if (match := re.search(form, documentation, re.MULTILINE)) is not None
    ).lower()
    return [_WORDS[word] for word in re.findall(r"[a-z]+", said) if word in _WORDS]


def _used_as(target: CallTarget, parameter: CallableParameter) -> list[str]:
    """Return the types that the body treats the parameter as."""
    found: list[str] = []
    for node in ast.walk(target.node):
        match node:
            case ast.Call(func=ast.Name(id="isinstance"), args=[ast.Name(id=name), kinds]) if name == parameter.name:
                parts = kinds.elts if isinstance(kinds, ast.Tuple) else [kinds]
                found += [last_name(part) for part in parts if last_name(part)]
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method)) if name == parameter.name:
                found += treated_as(method)
            case ast.Call(func=ast.Name(id=name)) if name == parameter.name:
                found.append("Callable")
            case ast.Call(func=ast.Name(id=test) | ast.Attribute(attr=test), args=args) if test in _TESTS_OF_FUNCTIONS:
                found += ["Callable"] if _mentions(args, parameter) else []
            case ast.For(iter=ast.Name(id=name)) | ast.comprehension(iter=ast.Name(id=name)) if name == parameter.name:
                found.append("list")
            case ast.Call(func=ast.Attribute(value=ast.Name(id="re")), args=[_, *rest]) if _mentions(rest, parameter):
                found.append("str")
            case ast.Call(func=ast.Name(id="int" | "range" | "abs" | "divmod"), args=args) if _mentions(
                args, parameter
            ):
                found.append("int")
            case ast.Call(func=ast.Name(id="float"), args=args) if _mentions(args, parameter):
                found.append("float")
            case ast.Call(
                func=ast.Name(id="iter" | "len" | "sorted" | "enumerate" | "zip" | "list" | "tuple"), args=args
            ):
                found += ["list"] if _mentions(args, parameter) else []
            case ast.BinOp(left=left, op=ast.Mod() | ast.Sub() | ast.Mult() | ast.Div(), right=right):
                found += ["int"] if _mentions([left, right], parameter) else []
            case _:
                pass
    return found


def _is_opened(target: CallTarget, parameter: CallableParameter) -> bool:
    """Return whether the body opens the parameter, or looks for a file that is called so."""
    calls = (node for node in ast.walk(target.node) if isinstance(node, ast.Call) and node.args)
    return any(_mentions(node.args[:1], parameter) and ast.unparse(node.func) in _TAKING_FILES for node in calls)


def treated_as(method: str) -> list[str]:
    """Return the plain type that has the *method*; none where only other objects have it."""
    if method in _STRING_METHODS:
        return ["str"]
    if method in _MAPPING_METHODS:
        return ["dict"]
    return ["list"] if method in _LIST_METHODS else []


def _mentions(nodes: list[ast.expr], parameter: CallableParameter) -> bool:
    return any(isinstance(node, ast.Name) and node.id == parameter.name for node in nodes)
