"""Cases that make one test: the same use of the same callable, told by the same kind of assertion."""

from __future__ import annotations

import ast
import builtins
import keyword
import re
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count

from rolecall_server.craft.characterization.inputs.call_forms import snake_case
from rolecall_server.craft.characterization.inputs.preparation import holds_preparation
from rolecall_server.craft.characterization.observation import CandidateCall, Observation
from rolecall_server.python_trees import parse_expression

FOLDER = "tmp_path"
"""The fixture of pytest's that is an empty folder of the test's own."""
_OPERATIONS = {
    "eq": "equals", "ne": "differs_from", "lt": "is_less_than", "le": "is_at_most", "gt": "is_greater_than",
    "ge": "is_at_least", "str": "as_text", "repr": "repr", "len": "length", "iter": "iteration", "getitem": "item",
    "contains": "contains", "hash": "hash", "call": "call", "bool": "truth", "add": "sum", "sub": "difference",
    "mul": "product", "truediv": "quotient", "neg": "negation", "abs": "absolute_value", "int": "as_int",
    "float": "as_float", "reversed": "reversed", "format": "format",
}  # fmt: skip
# pytest takes a parameter called `request`, `capsys` or `monkeypatch` for its fixture.
_RESERVED = frozenset(
    {"request", "call", "self", "cls", "pytest", "capsys", "monkeypatch", FOLDER, "expected", "result", "printed"}
)


@dataclass(frozen=True)
class Column:
    """One value of each case: a name, and an expression a case."""

    name: str
    sources: tuple[str, ...]

    @property
    def constant(self) -> bool:
        """Return whether the column is the same in all cases."""
        return len(set(self.sources)) == 1


@dataclass(frozen=True)
class Group:
    """The cases of one test."""

    name: str
    """Without ``test_``."""
    template: str
    operands: tuple[Column, ...]
    views: tuple[tuple[str, Column], ...] = ()
    """The views of the result that are checked, and what is expected."""
    effects: tuple[tuple[int, str, Column], ...] = ()
    """The number of the operand that changes, what is looked at of it, and what is expected."""
    exception: str = ""
    exception_module: str = ""
    message: str = ""
    """The exception's text, where all cases share it."""
    messages: Column | None = None
    """The exception's text in each case, where they differ."""
    printed: Column | None = None
    warns: tuple[str, ...] = ()
    """The kinds of warnings that each call gives."""
    patched: tuple[tuple[int, str], ...] = ()
    """The operands that take the place of a name of the module, each with that name in full."""

    @property
    def needs_folder(self) -> bool:
        """Return whether it uses a temporary folder."""
        return any(FOLDER in source for column in self.operands for source in column.sources)

    @property
    def n_cases(self) -> int:
        """Return the number of calls that it makes."""
        return len(self.operands[0].sources) if self.operands else 1


def group(
    cases: Mapping[CandidateCall, Observation], module_names: Collection[str], taken: Collection[str] = ()
) -> list[Group]:
    """Return the tests that *cases* make, in their order.

    No test's name is in *taken*, and no operand's hides one of *module_names*.
    """
    by_form: dict[Hashable, list[CandidateCall]] = {}
    for call, seen in cases.items():
        by_form.setdefault(_form(call, seen), []).append(call)
    used = set(taken)
    groups: list[Group] = []
    for calls in by_form.values():
        groups.append(_group(calls, [cases[call] for call in calls], module_names, used))
        used.add(groups[-1].name)
    return groups


def _form(call: CandidateCall, seen: Observation) -> Hashable:
    views = tuple(template for template, _ in seen.views)
    effects = tuple((number, tuple(template for template, _ in found)) for number, found in seen.effects)
    outcome = (views, effects, bool(seen.printed))
    if seen.kind == "raises":
        outcome = (seen.type_name, seen.exception_module, seen.lazily, bool(seen.said))
    # What takes statements to make stands in the body of a test, so that its cases have to share it.
    prepared = tuple(operand if holds_preparation(operand) or FOLDER in operand else "" for operand in call.operands)
    # The folder is there in the body of a test alone, and so is what names it.
    afterwards = [view for _, views in seen.effects for view in views]
    named = tuple(literal for _, literal in [*seen.views, *afterwards] if FOLDER in literal)
    return (call.target, call.template, call.patched, seen.kind, outcome, prepared, named, seen.warns)


def _group(
    calls: Sequence[CandidateCall], seen: Sequence[Observation], module_names: Collection[str], used: set[str]
) -> Group:
    first, one = calls[0], seen[0]
    names = _operand_names(first.names, module_names)
    operands = tuple(Column(name, tuple(call.operands[place] for call in calls)) for place, name in enumerate(names))
    messages = [each.said for each in seen]
    alike = len(set(messages)) == 1
    effects = tuple(
        (number, template, Column(f"{names[number]}_after", tuple(each.effects[place][1][row][1] for each in seen)))
        for place, (number, views) in enumerate(one.effects if one.kind == "value" else ())
        for row, (template, _) in enumerate(views)
    )
    return Group(
        name=_name(first, one, names, used),
        template=f"list({first.template})" if one.lazily else first.template,
        operands=operands,
        views=() if effects and first.template.startswith("{0}.__setitem__(") else _views(seen, names),
        effects=_apart(effects),
        exception=one.type_name if one.kind == "raises" else "",
        exception_module=one.exception_module,
        message=messages[0] if alike else "",
        messages=None if alike else _messages(messages, names),
        warns=tuple(name for name, _ in one.warns),
        patched=first.patched,
        printed=Column("printed", tuple(repr(each.printed) for each in seen)) if one.printed else None,
    )


def _messages(messages: Sequence[str], operands: Collection[str]) -> Column:
    names = chain(["message"], (f"message_{number}" for number in count(2)))
    return Column(next(one for one in names if one not in operands), tuple(map(repr, messages)))


def _views(seen: Sequence[Observation], operands: Collection[str]) -> tuple[tuple[str, Column], ...]:
    templates = [template for template, _ in seen[0].views]
    taken = set(operands)
    found: list[tuple[str, Column]] = []
    for place, template in enumerate(templates):
        stem = "expected" if len(templates) == 1 else _view_name(template)
        names = chain([stem], (f"{stem}_{number}" for number in count(2)))
        name = next(one for one in names if one not in taken)
        taken.add(name)
        found.append((template, Column(name, tuple(each.views[place][1] for each in seen))))
    return tuple(found)


def _view_name(template: str) -> str:
    attribute = re.fullmatch(r"\{\}.*\.(\w+)", template)
    if attribute:
        return f"expected_{attribute[1]}"
    return {"str({})": "text", "len({})": "length", "list({})": "items"}.get(template, "start")


def _apart(effects: Sequence[tuple[int, str, Column]]) -> tuple[tuple[int, str, Column], ...]:
    """Return *effects*, renamed where needed so that each column has a name of its own."""
    if len(effects) == len({column.name for _, _, column in effects}):
        return tuple(effects)
    return tuple(
        (number, template, Column(f"{column.name}_{place}", column.sources))
        for place, (number, template, column) in enumerate(effects, 1)
    )


def _operand_names(names: Sequence[str], module_names: Collection[str]) -> list[str]:
    found: list[str] = []
    for name in names:
        plain = name.strip("_") or "value"
        clashes = plain in _RESERVED or plain in module_names or keyword.iskeyword(plain) or hasattr(builtins, plain)
        plain = f"{plain}_" if clashes else plain
        while plain in found:
            plain += "_"
        found.append(plain)
    return found


def _name(call: CandidateCall, seen: Observation, names: Sequence[str], used: set[str]) -> str:
    owner, _, name = call.target.rpartition(".")
    name = _OPERATIONS.get(name.strip("_"), name.strip("_")) if name.startswith("__") else name
    stem = f"{snake_case(owner.rpartition('.')[2])}_{snake_case(name)}" if owner else snake_case(name)
    options = [word for word in re.findall(r"\b(\w++)=\{", call.template) if word not in stem.split("_")]
    if options:
        named = "_and_".join(option.strip("_") for option in options)
        stem += f"_with_{named}" if len(options) <= 2 else "_with_options"
    if seen.kind == "raises":
        stem += f"_raises_{snake_case(seen.type_name.rpartition('.')[2])}"
    elif seen.effects:
        (number, ((template, _), *_)), *_ = seen.effects
        does = "asks" if template.endswith("_calls") or "_calls]" in template else "changes"
        stem += f"_{does}_{names[number].strip('_')}"
        stem += "_and_returns_its_answer" if " is {" in call.template else ""
    elif seen.printed:
        stem += "_prints"
    return _unused(stem, seen, used)


def _unused(stem: str, seen: Observation, used: set[str]) -> str:
    if stem not in used:
        return stem
    if seen.kind == "value" and f"{stem}_gives_{snake_case(seen.type_name)}" not in used:
        return f"{stem}_gives_{snake_case(seen.type_name)}"
    return next(name for number in range(2, 10_000) if (name := f"{stem}_{number}") not in used)


def is_scalar(source: str) -> bool:
    """Return whether pytest shows the value itself in the name of a case."""
    node = parse_expression(source)
    if isinstance(node, ast.UnaryOp):
        node = node.operand
    if not isinstance(node, ast.Constant) or isinstance(node.value, bytes):
        return False
    return not isinstance(node.value, str) or (bool(node.value) and node.value.isascii() and node.value.isprintable())
