"""The calls that are tried on each target: real ones from the repository first, then made up from types."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from random import Random

from rolecall_server.craft.characterization.inputs.call_forms import build
from rolecall_server.craft.characterization.inputs.domains import (
    IMPORTS,
    ValueSources,
    instances_of,
    interleaved,
)
from rolecall_server.craft.characterization.inputs.survey import (
    BUILTIN_NAMES,
    CallableParameter,
    CallTarget,
    Survey,
    constructor_parameters,
    last_name,
)
from rolecall_server.craft.characterization.inputs.usage.parameter_values import (
    keywords_of,
    likely_values,
    typed_values,
    values_for,
    values_of_each,
)
from rolecall_server.craft.characterization.observation import LIKELY, MADE_UP, CandidateCall

MAX_CALLS = 400
"""The number of calls that are tried on one target at first."""
_MAX_RECEIVERS = 10
_MAX_FROM_REPOSITORY = 40
_RANDOM_SHARE = 4
_MAX_PASSED = 24
_FEW = 3
_SEVERAL = 3
"""The place of a group of three values."""
_ALONE = 60
"""So many values are the only one that is given for a parameter which takes any number."""
"""So many values of an optional parameter are tried on every object: where it may be empty or ``None``, these too."""
_MANY = 12
"""So many values of a required parameter are tried first, the other parameters left as they are."""
_OF_EACH = 6
"""So many values of each of two required parameters are tried together: one that fits shows nothing beside one that
does not.
"""
_NEVER_THE_SAME = {
    *("now", "today", "utcnow", "time", "time_ns", "monotonic", "perf_counter", "urandom", "uuid1", "uuid4", "random"),
    *("randint", "choice", "getcwd", "getpid", "open", "input", "mkdtemp", "mkstemp", "NamedTemporaryFile"),
    *("TemporaryDirectory", "TemporaryFile"),
}
"""Functions whose result says nothing about tomorrow's."""


@dataclass(frozen=True)
class Example:
    """A call that somebody wrote."""

    node: ast.Call
    origin: int


def calls_of(
    target: CallTarget,
    sources: ValueSources,
    examples: Iterable[Example],
    random: Random,
    seen: Mapping[tuple[str, str], Sequence[str]] | None = None,
) -> list[CandidateCall]:
    """Return the calls to try on *target* first: those of *examples* that fit, then combinations by type.

    *seen* are expressions that were passed before, by target and parameter, and by class for the object of a method.
    """
    seen = seen or {}
    real = list(dict.fromkeys(_from_examples(target, sources.survey, examples)))[:_MAX_FROM_REPOSITORY]
    receivers = (
        interleaved(seen.get((target.owner, ""), ()), instances_of(target.owner, sources))
        if target.is_of_object
        else [""]
    )
    # Hashes differ from process to process; that equal objects have equal ones can be asserted.
    if target.operation == "hash({0}) == hash({1})":
        return [
            CandidateCall(target.qualified_name, target.operation, (one, one), ("one", "other"))
            for one in receivers[:4]
        ]
    likely = _Likely(target, sources)
    passed = _arguments_passed(target, sources.survey, examples)
    for parameter in target.parameters:
        both = [*seen.get((target.qualified_name, parameter.name), ()), *passed.get(parameter.name, ())]
        passed[parameter.name] = list(dict.fromkeys(both))[:_MAX_PASSED]
    made_up = dict.fromkeys(_combinations(target, sources, receivers, passed, random=random))
    return [*real, *(likely.marked(call) for call in made_up if call not in set(real))][:MAX_CALLS]


class _Likely:
    """Tells which calls give each parameter a value of the type it has, or most likely has."""

    def __init__(self, target: CallTarget, sources: ValueSources) -> None:
        self._values: dict[str, set[str]] = {}
        for parameter in target.parameters:
            if parameter.annotation is None and not parameter.many:
                self._values[parameter.name] = likely_values(target, parameter, sources)

    def marked(self, call: CandidateCall) -> CandidateCall:
        """Return *call* with its origin; for a parameter of which nothing is known, any value counts as likely."""
        given = zip(call.names, call.operands, strict=True)
        odd = any(source not in values for name, source in given if (values := self._values.get(name)))
        return replace(call, origin=MADE_UP if odd else LIKELY)


def _combinations(
    target: CallTarget,
    sources: ValueSources,
    receivers: Sequence[str],
    passed: Mapping[str, Sequence[str]],
    *,
    random: Random,
) -> Iterator[CandidateCall]:
    if not receivers:
        return
    if target.kind == "property":
        yield from (build(target, {}, receiver) for receiver in receivers)
        return
    plain = [parameter for parameter in target.parameters if not parameter.many]
    values = {
        parameter.name: interleaved(passed.get(parameter.name, ()), values_for(target, parameter, sources))
        for parameter in plain
    }
    required = {one.name for one in plain if not one.optional}
    if any(not values[name] for name in required):
        return
    others = {one.name: _but_default(one, values[one.name]) for one in plain if one.optional}
    optional = {name: given for name, given in others.items() if given}
    starred = next((one for one in target.parameters if one.many == "*"), None)
    groups = _positional_groups(target, starred, sources)
    base = {name: values[name][0] for name in required}
    yield build(target, base, receivers[0], groups[0])
    for receiver in receivers[:_MAX_RECEIVERS]:
        yield build(target, base, receiver, groups[-1])
        yield from (build(target, base | words, receiver) for words in _words(target, sources))
    for more in groups:
        yield build(target, base, receivers[0], more)
    if starred is not None:
        yield from (build(target, base | words, receivers[0], groups[_SEVERAL]) for words in _words(target, sources))
    # Before the optional ones, which on many objects can take all the calls that there are: where the first value of a
    # required parameter is of the wrong type, each of them fails.
    yield from (build(target, base | given, receivers[0]) for given in _required_values(required, values))
    for name, given in optional.items():
        yield from (build(target, base | {name: value}, one) for value in given[:_FEW] for one in receivers)
    if target.operation and required:
        alike = instances_of(target.owner, sources)
        yield from (build(target, dict.fromkeys(required, other), one) for one in receivers for other in alike)
    for row in range(max((len(values[name]) for name in required or optional), default=0)):
        # Each parameter steps through its values at its own pace, so that new pairs come up once the values repeat.
        varied = {
            name: values[name][(row * (1 + place)) % len(values[name])] for place, name in enumerate(sorted(required))
        }
        yield build(target, varied, receivers[row % len(receivers)], groups[row % len(groups)])
        for place, (name, given) in enumerate(optional.items()):
            if row < len(given) or row % len(optional) == place:
                yield build(target, varied | {name: given[row % len(given)]}, receivers[row % len(receivers)])
    yield from _random_mixtures(target, values, required, receivers, groups, random=random)


def _required_values(required: Collection[str], values: Mapping[str, Sequence[str]]) -> Iterator[dict[str, str]]:
    """Yield values for each of the *required* parameters, then for each two of them where there are few."""
    for name in sorted(required):
        yield from ({name: value} for value in values[name][:_MANY])
    for one, other in combinations(sorted(required), 2) if len(required) <= _FEW else ():
        for first, second in product(values[one][:_OF_EACH], values[other][:_OF_EACH]):
            yield {one: first, other: second}


def _but_default(parameter: CallableParameter, values: Sequence[str]) -> list[str]:
    """Return *values* without that which the parameter has anyway."""
    default = ast.unparse(parameter.default) if parameter.default is not None else ""
    return [value for value in values if value != default]


def _words(target: CallTarget, sources: ValueSources) -> Iterator[dict[str, str]]:
    """Yield the keywords to give to a callable that takes any: those that its code reads, then for a method a few
    values for each parameter that builds its class.
    """
    if not any(one.many == "**" for one in target.parameters):
        return
    yield from keywords_of(target, sources)
    node = sources.survey.classes.get(target.owner)
    if node is None:
        return
    for parameter in constructor_parameters(node, sources.survey.classes) or ():
        if not parameter.many:
            yield from ({parameter.name: value} for value in typed_values(target, parameter, sources)[:3])
    yield {"unknown": "1"}


def _random_mixtures(
    target: CallTarget,
    values: Mapping[str, Sequence[str]],
    required: set[str],
    receivers: Sequence[str],
    groups: Sequence[Sequence[str]],
    *,
    random: Random,
) -> Iterator[CandidateCall]:
    for _ in range(MAX_CALLS // _RANDOM_SHARE):
        given = {
            name: random.choice(choices)
            for name, choices in values.items()
            if choices and (name in required or random.random() < 0.5)
        }
        yield build(target, given, random.choice(receivers), random.choice(groups))


def _positional_groups(
    target: CallTarget, starred: CallableParameter | None, sources: ValueSources
) -> list[tuple[str, ...]]:
    if starred is None:
        return [()]
    values = values_of_each(target, starred, sources)
    more = [tuple(values[place : place + 1]) for place in range(1, min(len(values), _ALONE))]
    return [tuple(values[:1]), (), tuple(values[:2]), tuple(values[1:4]), tuple(values[3:5]), tuple(values[5:7]), *more]


def _from_examples(target: CallTarget, survey: Survey, examples: Iterable[Example]) -> Iterator[CandidateCall]:
    for example in examples:
        call = example.node
        if not _may_be_of(target, call):
            continue
        receiver = ""
        if target.kind == "method":
            if not isinstance(call.func, ast.Attribute) or not is_self_contained(call.func.value, survey):
                continue
            receiver = ast.unparse(call.func.value)
        found = _with_arguments(target, survey, call, receiver)
        if found is not None:
            yield replace(found, origin=example.origin)


def _may_be_of(target: CallTarget, call: ast.Call) -> bool:
    """Return whether somebody's *call* may be one of *target*, by its name and its form."""
    # Nobody calls a property, and what is called on ``self`` is a method: the name is another's.
    match call.func:
        case ast.Attribute(value=ast.Name(id="self" | "cls")) if target.kind == "function":
            return False
        case _:
            return last_name(call.func) == target.name and target.kind not in ("property", "setter")


def _arguments_passed(target: CallTarget, survey: Survey, examples: Iterable[Example]) -> dict[str, list[str]]:
    """Return for each parameter the expressions that somebody passes and that mean the same in a test, those of most
    calls first: also of calls whose other arguments do not.
    """
    plain = [one.name for one in target.parameters if not one.many and not one.keyword_only]
    counts: dict[str, Counter[str]] = {}
    for example in examples:
        call = example.node
        if not _may_be_of(target, call) or any(isinstance(one, ast.Starred) for one in call.args):
            continue
        words = [(word.arg, word.value) for word in call.keywords if word.arg is not None]
        for name, node in [*zip(plain, call.args, strict=False), *words]:
            if is_self_contained(node, survey):
                counts.setdefault(name, Counter())[ast.unparse(node)] += 1
    return {name: [source for source, _ in found.most_common(_MAX_PASSED)] for name, found in counts.items()}


def _with_arguments(target: CallTarget, survey: Survey, call: ast.Call, receiver: str) -> CandidateCall | None:
    words = {word.arg: word.value for word in call.keywords if word.arg is not None}
    given_nodes = [*call.args, *words.values()]
    if len(words) != len(call.keywords) or not all(is_self_contained(node, survey) for node in given_nodes):
        return None
    plain = [one for one in target.parameters if not one.many and not one.keyword_only]
    if len(call.args) > len(plain) and not any(one.many == "*" for one in target.parameters):
        return None
    given = {one.name: ast.unparse(node) for one, node in zip(plain, call.args, strict=False)}
    given |= {name: ast.unparse(node) for name, node in words.items()}
    return build(target, given, receiver, [ast.unparse(node) for node in call.args[len(plain) :]])


def is_self_contained(node: ast.expr, survey: Survey) -> bool:
    """Return whether an expression means the same in a test: literals, the module's names, and what tests import
    anyway.
    """
    bound = {one.arg for lambda_ in ast.walk(node) if isinstance(lambda_, ast.Lambda) for one in lambda_.args.args}
    known = survey.names | survey.borrowed | IMPORTS.keys() | BUILTIN_NAMES | bound
    unfit = ast.Starred | ast.Await | ast.Yield | ast.NamedExpr | ast.JoinedStr | ast.comprehension
    for one in ast.walk(node):
        if isinstance(one, unfit) or (isinstance(one, ast.Name) and one.id not in known):
            return False
        if isinstance(one, ast.Call) and last_name(one.func) in _NEVER_THE_SAME:
            return False
    return len(ast.unparse(node)) <= 200


def examples_in(tree: ast.AST, survey: Survey, origin: int) -> Iterator[Example]:
    """Yield the calls in *tree*, with simple local variables replaced by their values and without the module's own name
    as a prefix.
    """
    for scope in ast.walk(tree):
        if not isinstance(scope, ast.Module | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        known: dict[str, ast.expr] = {}
        for statement in scope.body:
            if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                continue
            plain = _Plain(known, survey).visit(statement)
            yield from (Example(node, origin) for node in ast.walk(plain) if isinstance(node, ast.Call))
            if isinstance(plain, ast.Assign) and isinstance(plain.targets[0], ast.Name):
                known[plain.targets[0].id] = plain.value


class _Plain(ast.NodeTransformer):
    """Puts into a tree, in place, what is known of names."""

    def __init__(self, known: Mapping[str, ast.expr], survey: Survey) -> None:
        self.known = known
        self.survey = survey

    def visit_Name(self, node: ast.Name) -> ast.expr:
        found = self.known.get(node.id) if isinstance(node.ctx, ast.Load) else None
        return found if found is not None and is_self_contained(found, self.survey) else node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        inner = node.value
        outside = isinstance(inner, ast.Name | ast.Attribute) and last_name(inner) not in self.survey.names
        if (
            outside
            and node.attr in self.survey.names | self.survey.borrowed
            and not (isinstance(inner, ast.Name) and (inner.id in self.known or inner.id in ("self", "cls")))
        ):
            return ast.Name(node.attr, ast.Load())
        return self.generic_visit(node)  # pyright: ignore[reportReturnType]
