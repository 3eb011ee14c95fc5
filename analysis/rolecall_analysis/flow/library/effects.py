"""The effects of the standard library on the values it is given, as far as calls depend on them."""

from __future__ import annotations

from collections.abc import Callable

from rolecall_analysis.flow.attributes import load, store
from rolecall_analysis.flow.classes import order
from rolecall_analysis.flow.code import Arguments
from rolecall_analysis.flow.graph import MERGED, weakened
from rolecall_analysis.flow.items import with_each_key
from rolecall_analysis.flow.library.callbacks import Rule, argument_of, call_back
from rolecall_analysis.flow.library.iterables import (
    chain,
    choose,
    collects,
    enumerate_elements,
    filter_elements,
    make_default_dict,
    make_dict,
    map_function,
    reduce_elements,
    take_next,
    zip_elements,
)
from rolecall_analysis.flow.program import module_value
from rolecall_analysis.flow.sites import Site, within
from rolecall_analysis.flow.state import (
    Flow,
    attribute_node,
    outside_named,
    something_outside,
)
from rolecall_analysis.flow.values import (
    ClassValue,
    Frame,
    FunctionValue,
    InstanceValue,
    PartialValue,
    PropertyValue,
    SuperValue,
    WrappedValue,
)
from rolecall_analysis.modules import find_module


def _super(flow: Flow, site: Site, reason: int) -> None:
    if len(site.positional) >= 2:
        flow.graph.watch(site.positional[0], lambda token: _super_of(flow, site, token, site.positional[1]))
        return
    method: Frame | None = site.frame
    while method is not None and (method.parent is None or method.parent.class_value is None):
        method = method.parent
    if method is None or method.parent is None or method.parent.class_value is None or not method.scope.parameters:
        return
    start = method.parent.class_value
    first = method.first_node + method.scope.parameters[0].variable
    _super_of(flow, site, start.number << 2, first)


def _super_of(flow: Flow, site: Site, token: int, receiver: int) -> None:
    start = flow.value_of(token)
    if not isinstance(start, ClassValue):
        return

    def make(held: int) -> None:
        found = flow.value_of(held)
        is_class = isinstance(found, ClassValue)
        of = found if isinstance(found, ClassValue) else found.of if isinstance(found, InstanceValue) else None
        if of is None or start not in order(of):
            return
        key = ("super", start.number, of.number, is_class)
        made = flow.intern(key, lambda number: SuperValue(number, start, of, is_class))
        flow.graph.add(site.result, made << 2 | (held & 3))

    flow.graph.watch(receiver, make)


def _type(flow: Flow, site: Site, reason: int) -> None:
    def classify(token: int) -> None:
        found = flow.value_of(token)
        if isinstance(found, InstanceValue):
            flow.graph.add(site.result, found.of.number << 2 | (token & 3))
        elif isinstance(found, ClassValue):
            for metaclass in found.metaclasses:
                flow.graph.add(site.result, metaclass.number << 2 | (token & 3))

    if len(site.positional) == 1:
        flow.graph.watch(site.positional[0], classify)


def _getattr(flow: Flow, site: Site, reason: int) -> None:
    if len(site.positional) < 2:
        return
    owner, name = site.positional[0], site.positional[1]
    for default in site.positional[2:3]:
        flow.graph.link_because(default, site.result, MERGED)
    if _text_at(site, 1) is None:
        with_each_key(flow, name, lambda key: _add_unknown(flow, site, reason) if key is None else None)
    _with_each_text(
        flow,
        site,
        1,
        name,
        lambda text: flow.graph.watch(
            owner, lambda token: load(flow, site.frame, (site.result, text, site.start, site.end), token)
        ),
    )


def _add_unknown(flow: Flow, site: Site, reason: int) -> None:
    flow.graph.add(site.result, something_outside(flow) | reason)


def _text_at(site: Site, place: int) -> str | None:
    """Return the text that is written out as an argument; a function that another calls has no texts."""
    return site.arguments.texts[place] if place < len(site.arguments.texts) else None


def _with_each_text(flow: Flow, site: Site, place: int, node: int, act: Callable[[str], None]) -> None:
    if (text := _text_at(site, place)) is not None:
        act(text)
        return
    seen: set[str] = set()

    def tell(token: int) -> None:
        text = getattr(flow.value_of(token), "text", None)
        if isinstance(text, str) and text not in seen:
            seen.add(text)
            act(text)

    flow.graph.watch(node, tell)


def _setattr(flow: Flow, site: Site, reason: int) -> None:
    name = _text_at(site, 1)
    if len(site.positional) < 3 or name is None:
        return
    step = (name, site.positional[2], site.start, site.end)
    flow.graph.watch(site.positional[0], lambda token: store(flow, site.frame, step, token))


def _import_module(flow: Flow, site: Site, reason: int) -> None:
    if not site.positional:
        return

    def find(text: str) -> None:
        name = text.lstrip(".")
        location = find_module(flow.tree, site.frame.module.path, name, len(text) - len(name))
        token = outside_named(flow, text) if location is None else module_value(flow, location)
        flow.graph.add(site.result, token | reason)

    _with_each_text(flow, site, 0, site.positional[0], find)


def _property(flow: Flow, site: Site, reason: int) -> None:
    getter = argument_of(site, 0, "fget")
    if getter < 0:
        return
    setter = argument_of(site, 1, "fset")

    def make(token: int) -> None:
        if not isinstance(flow.value_of(token), FunctionValue):
            return
        number = token >> 2
        setters = [held >> 2 for held in flow.graph.held[setter]] if setter >= 0 else []
        made = setters[0] if setters else None
        key = ("property", number, made)
        flow.graph.add(site.result, flow.intern(key, lambda fresh: PropertyValue(fresh, number, made)) << 2 | reason)

    flow.graph.watch(getter, make)


def _wraps(kind: str) -> Rule:
    def wrap(flow: Flow, site: Site, reason: int) -> None:
        def make(token: int) -> None:
            number = token >> 2
            found = flow.values[number]
            if isinstance(found, FunctionValue) and (found.scope.is_static or found.scope.is_class_method):
                flow.graph.add(site.result, token)
                return
            made = flow.intern((kind, number), lambda fresh: WrappedValue(fresh, kind, number))
            flow.graph.add(site.result, made << 2 | (token & 3))

        for argument in site.positional[:1]:
            flow.graph.watch(argument, make)

    return wrap


def _partial(flow: Flow, site: Site, reason: int) -> None:
    made = flow.intern(("partial", site.arguments), lambda number: PartialValue(number, site.arguments))
    flow.graph.add(site.result, made << 2 | reason)


def _same(place: int, *names: str) -> Rule:
    def pass_on(flow: Flow, site: Site, reason: int) -> None:
        argument = argument_of(site, place, *names)
        if argument >= 0:
            flow.graph.link_because(argument, site.result, reason)

    return pass_on


def _wraps_another(flow: Flow, site: Site, reason: int) -> None:
    """``functools.wraps(f)``: returns a decorator that returns what it decorates."""
    flow.graph.add(site.result, outside_named(flow, "functools.<decorator>") | reason)


def _decorator_maker(flow: Flow, site: Site, reason: int) -> None:
    """``lru_cache(f)`` or ``lru_cache(...)(f)``: what is decorated is what will be called."""
    if site.kind == "decorator" and site.positional:
        flow.graph.link_because(site.positional[0], site.result, reason)
        return
    flow.graph.add(site.result, outside_named(flow, "functools.<decorator>") | reason)
    for argument in site.positional[:1]:
        flow.graph.link_because(argument, site.result, reason)


def _decorate(flow: Flow, site: Site, reason: int) -> None:
    for argument in site.positional[:1]:
        flow.graph.link_because(argument, site.result, reason)


def _calls_first(flow: Flow, site: Site, reason: int) -> None:
    if site.positional:
        call_back(flow, site, site.positional[0], site.positional[1:], result=site.result, reason=reason)


_STARTERS = frozenset(
    {"Thread", "Timer", "Process", "submit", "apply_async", "run_in_executor", "call_soon", "call_later"}
)


def _set_defaults(flow: Flow, site: Site, reason: int) -> None:
    """``parser.set_defaults(func=f)``: an attribute of what the parser will return, which nobody follows."""
    made = something_outside(flow) >> 2
    for name, node in site.arguments.keywords:
        if node >= 0:
            flow.graph.link(node, attribute_node(flow, made, name))


def _start(flow: Flow, site: Site, reason: int) -> None:
    """Something will call the function it is given, from elsewhere: a thread, a pool, an event loop."""
    flow.graph.add(site.result, something_outside(flow) | reason)
    target = next((node for name, node in site.arguments.keywords if name in ("target", "function")), -1)
    given = flow.graph.node()
    spread = next((node for name, node in site.arguments.keywords if name == "args"), -1)
    if target < 0:
        # The function comes first, as in `submit(f)`, or second, as in `call_later(1, f)`.
        for argument in site.positional[:2]:
            call_back(flow, site, argument, site.positional[1:], result=given, reason=MERGED)
        return
    arguments = Arguments(starred=(spread,) if spread >= 0 else ())
    inner = within(site, kind="callback", arguments=arguments, result=given)
    flow.graph.watch(target, lambda token: flow.call_value(flow, inner, weakened(token, MERGED)))


_RULES: dict[str, Rule] = {
    "super": _super,
    "type": _type,
    "getattr": _getattr,
    "setattr": _setattr,
    "importlib.import_module": _import_module,
    "__import__": _import_module,
    "map": map_function,
    "filter": filter_elements,
    "itertools.filterfalse": filter_elements,
    "itertools.chain": chain,
    "list": collects("list"),
    "tuple": collects("list"),
    "set": collects("set"),
    "frozenset": collects("set"),
    "iter": collects("generator"),
    "reversed": collects("generator"),
    "sorted": collects("list"),
    "collections.deque": collects("list"),
    "itertools.islice": collects("generator"),
    "itertools.cycle": collects("generator"),
    "min": choose,
    "max": choose,
    "enumerate": enumerate_elements,
    "zip": zip_elements,
    "itertools.zip_longest": zip_elements,
    "next": take_next,
    "anext": take_next,
    "aiter": collects("generator"),
    "dict": make_dict,
    "collections.OrderedDict": make_dict,
    "collections.defaultdict": make_default_dict,
    "property": _property,
    "functools.cached_property": _property,
    "abc.abstractproperty": _property,
    "staticmethod": _wraps("staticmethod"),
    "classmethod": _wraps("classmethod"),
    "functools.partial": _partial,
    "functools.wraps": _wraps_another,
    "functools.lru_cache": _decorator_maker,
    # No name of a module: it stands for what `wraps(f)` and `lru_cache(size)` return.
    "functools.<decorator>": _decorate,
    "functools.cache": _same(0),
    "functools.update_wrapper": _same(0),
    "functools.reduce": reduce_elements,
    "copy.copy": _same(0),
    "copy.deepcopy": _same(0),
    "weakref.proxy": _same(0),
    "typing.cast": _same(1, "val"),
    # What `with` makes of a generator is known where it is entered.
    "contextlib.contextmanager": _same(0),
    "contextlib.asynccontextmanager": _same(0),
    "contextlib.nullcontext": _same(0),
    "contextlib.closing": _same(0),
    # A coroutine is followed as what it returns: `await` changes nothing either.
    "asyncio.run": _same(0),
    "asyncio.create_task": _same(0),
    "asyncio.ensure_future": _same(0),
    "asyncio.wait_for": _same(0),
    "asyncio.shield": _same(0),
    "asyncio.to_thread": _calls_first,
    "atexit.register": _calls_first,
}


def call_outside(flow: Flow, site: Site, name: str, reason: int) -> None:
    """Call something that the repository does not define, by its dotted name."""
    rule = _RULES.get(name.removeprefix("builtins."))
    if rule is not None:
        rule(flow, site, reason)
    elif site.kind == "decorator" and site.positional:
        # A decorator from outside nearly always returns what it decorates, or something that calls it.
        flow.graph.link_because(site.positional[0], site.result, reason)
    # By its last part: of a pool or an event loop nobody knows more than the name of its method.
    elif name.rpartition(".")[2] in _STARTERS:
        _start(flow, site, reason)
    elif site.name == "set_defaults":
        _set_defaults(flow, site, reason)
    else:
        flow.graph.add(site.result, something_outside(flow) | reason)
        call_back(
            flow, site, argument_of(site, len(site.positional), "key"), (), result=flow.graph.node(), reason=reason
        )
