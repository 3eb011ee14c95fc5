"""Reasons why a test is worthless whatever it covers: it asserts nothing, sleeps, uses the network, replaces what it
tests.

Judged by the test's text alone; whether it passes and what it reaches is for the runner to say.
"""

from __future__ import annotations

import ast
from collections.abc import Collection
from dataclasses import dataclass

from rolecall_server.craft.test_quality.test_text import is_docstring, written_tests

_ASSERTING_PREFIXES = ("assert", "check", "verify", "expect", "ensure", "fail")
_ASSERTING_CALLS = frozenset(
    {"raises", "warns", "deprecated_call", "assertRaises", "assertWarns", "assertLogs", "approx"}
)
_SLEEPS = frozenset({"time.sleep", "sleep", "asyncio.sleep", "anyio.sleep", "trio.sleep"})
_NETWORK = (
    *("requests.", "httpx.", "urllib3.", "aiohttp.", "http.client.", "ftplib.", "smtplib.", "telnetlib."),
    *("urllib.request.", "socket.create_connection", "socket.getaddrinfo", "socket.gethostbyname"),
)
_LOOPBACK = ("127.0.0.1", "localhost", "::1", "[::1]")


@dataclass(frozen=True)
class Unsound:
    """A test that should not be kept."""

    name: str
    """As pytest joins it: ``TestPrice::test_total``."""
    reason: str
    """As a sentence without a subject: ``asserts nothing``."""


def unsound_tests(text: str, base: str | None, module: str = "", defined: Collection[str] = ()) -> tuple[Unsound, ...]:
    """Return the tests that are in *text* and not in *base*, and that nobody should keep.

    *module* is the dotted name of what is tested and *defined* the functions, methods and classes of it that are under
    test, as dotted names within it: a test that replaces one of these tests its own replacement. A constant or a
    setting that a test replaces is none. What does not parse has no tests.
    """
    known = {test.name for test in written_tests(base or "")}
    bodies: dict[str, str] = {}
    found: list[Unsound] = []
    for test in written_tests(text):
        body = _likeness(test.node)
        # Before tests that were there are passed over: a new one may do the same as one of these.
        twin = bodies.setdefault(body, test.name)
        if test.name in known:
            continue
        reason = f"does the same as {twin}" if twin != test.name else _fault(test.node, module, defined)
        if reason:
            found.append(Unsound(test.name, reason))
    return tuple(found)


def _likeness(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """Return the parts of a test that are equal in two tests that do the same: all but the name and the docstring."""
    body = [statement for statement in node.body if not is_docstring(statement)]
    return "\n".join(ast.dump(part) for part in (node.args, *node.decorator_list, *body))


def _fault(node: ast.FunctionDef | ast.AsyncFunctionDef, module: str, defined: Collection[str]) -> str:
    calls = [each for each in ast.walk(node) if isinstance(each, ast.Call)]
    asserts = [each for each in ast.walk(node) if isinstance(each, ast.Assert)]
    if not any(not _is_always_true(each.test) for each in asserts) and not any(map(_asserts, calls)):
        return "asserts nothing" if not asserts else "asserts only what is always true"
    if any(_name(call.func) in _SLEEPS and not _is_zero(call) for call in calls):
        return "sleeps"
    if any(_name(call.func).startswith(_NETWORK) and not _is_loopback(call) for call in calls):
        return "goes out to the network"
    called = {_name(call.func).rpartition(".")[2] for call in calls}
    names = filter(None, (_replaced(call, module, defined) for call in calls))
    # A method stands in the way of the others of its class: what does not call it may be a test of those.
    replaced = next((name for name in names if "." not in name or name.rpartition(".")[2] in called), "")
    return f"replaces {replaced}, which it should test" if replaced else ""


def _name(node: ast.expr) -> str:
    """Return the dotted name of *node*; for an attribute of a call or an item, the last part only."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        holder = _name(node.value)
        return f"{holder}.{node.attr}" if holder else node.attr
    return ""


def _asserts(call: ast.Call) -> bool:
    name = _name(call.func).rpartition(".")[2]
    return name in _ASSERTING_CALLS or name.lstrip("_").startswith(_ASSERTING_PREFIXES)


def _is_always_true(test: ast.expr) -> bool:
    if isinstance(test, ast.Constant):
        return bool(test.value)
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq | ast.Is):
        same = ast.dump(test.left) == ast.dump(test.comparators[0])
        return same and not any(isinstance(each, ast.Call) for each in ast.walk(test))
    return False


def _is_zero(call: ast.Call) -> bool:
    return bool(call.args) and isinstance(call.args[0], ast.Constant) and call.args[0].value == 0


def _is_loopback(call: ast.Call) -> bool:
    texts = [each.value for each in ast.walk(call) if isinstance(each, ast.Constant) and isinstance(each.value, str)]
    return any(place in text for text in texts for place in _LOOPBACK)


def _replaced(call: ast.Call, module: str, defined: Collection[str]) -> str:
    """Return what of the module under test *call* puts something else in place of; empty where it does not."""
    how = _name(call.func).rpartition(".")[2]
    first, second = (*call.args, None, None)[:2]
    if how in ("patch", "setattr") and isinstance(first, ast.Constant):
        target = str(first.value).removeprefix(f"{module}.")
        return target if module and target != first.value and target in defined else ""
    if how in ("setattr", "object") and first is not None and isinstance(second, ast.Constant):
        target = f"{_within(_name(first), module)}{second.value}"
        return target if module and target in defined else ""
    return ""


def _within(holder: str, module: str) -> str:
    """Return what stands before a name of *module* that is reached through *holder*: nothing, or ``Cart.``."""
    for name in (module, module.rpartition(".")[2]):
        if holder == name:
            return ""
        if holder.startswith(f"{name}."):
            return f"{holder.removeprefix(f'{name}.')}."
    return f"{holder}."
