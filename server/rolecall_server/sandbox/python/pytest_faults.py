"""The faults that keep pytest from beginning, and what to leave out so that the rest of the tests can run."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import PurePosixPath

from rolecall_server.sandbox.python.interpreter import Interpreter
from rolecall_server.sandbox.python.pytest_report import Fault
from rolecall_server.sandbox.results import Gap
from rolecall_server.sandbox.shadow.shadow import Shadow

_UNKNOWN = re.compile(r"unrecognized arguments: (.+)")
_UNKNOWN_SETTING = re.compile(r"Unknown config option: ([^\n]+)")
_MISSING = re.compile(r"Missing required plugins: (.+)")
_NO_MODULE = re.compile(r"No module named '([\w.]+)'")


@dataclass(frozen=True)
class Without:
    """The things that pytest is run without."""

    conftests: tuple[str, ...] = ()
    """Those that cannot be imported; no test below their folders is run."""
    unknown: tuple[str, ...] = ()
    """Options of our own that pytest does not know there."""
    arguments: tuple[str, ...] = ()
    """The arguments with which pytest does without."""
    gaps: tuple[Gap, ...] = ()
    """The parts that are left out, why, and what to do: for the developer."""

    def holds(self, target: str) -> bool:
        """Return whether *target*, a path or a node id, lies below a folder that is left out."""
        parents = PurePosixPath(target.partition("::")[0]).parents
        return any(PurePosixPath(conftest).parent in parents for conftest in self.conftests)


def and_without(known: Without, faults: Iterable[Fault], shadow: Shadow, interpreter: Interpreter) -> Without:
    """Return what is run without *faults* as well; the same as *known* where nothing can be left out for them."""
    return reduce(lambda now, fault: _and_fault(now, fault, shadow, interpreter), faults, known)


def _and_fault(known: Without, fault: Fault, shadow: Shadow, interpreter: Interpreter) -> Without:
    step = _next_step(fault, shadow, interpreter)
    if fault.conftest:
        return _and_conftest(known, fault, step)
    if unknown := _UNKNOWN.search(fault.message):
        return _and_options(known, fault, unknown[1], interpreter)
    if setting := _UNKNOWN_SETTING.search(fault.message):
        return _and_setting(known, fault, setting[1], interpreter)
    return _and_plugin(known, fault, step, interpreter)


def _and_plugin(known: Without, fault: Fault, step: str, interpreter: Interpreter) -> Without:
    if fault.installed:
        gap = Gap(f"The tests ran without the installed plug-in {fault.installed}", _why(fault), step)
        return _and(known, gap, f"-pno:{fault.installed}")
    if (left := _without_plugin(fault.addopts, fault.named)) != fault.addopts:
        gap = Gap(f"The tests ran without the plug-in {fault.named} of addopts", _why(fault), step)
        return _and(known, gap, _addopts(left))
    if missing := _MISSING.search(fault.message):
        step = _install("them", interpreter)
        gap = Gap("The tests ran without plug-ins", f"The repository requires {missing[1]}", step)
        return _and(known, gap, "--override-ini=required_plugins=")
    return known


def _and(known: Without, gap: Gap, *arguments: str) -> Without:
    return replace(known, arguments=(*known.arguments, *arguments), gaps=tuple(dict.fromkeys((*known.gaps, gap))))


def _and_conftest(known: Without, fault: Fault, step: str) -> Without:
    folder = str(PurePosixPath(fault.conftest).parent)
    what = "No test was run" if folder == "." else f"The tests in {folder} were not run"
    found = _and(known, Gap(what, f"{fault.conftest} raises {fault.message}", step), f"--ignore={folder}")
    return replace(found, conftests=tuple(dict.fromkeys((*known.conftests, fault.conftest))))


def _and_options(known: Without, fault: Fault, unknown: str, interpreter: Interpreter) -> Without:
    """Leave out what pytest does not know: of the repository's arguments, and of our own."""
    # Looked for as whole words: an option may hold spaces, so that pytest's sentence cannot be split into options.
    theirs = [option for option in fault.addopts if f" {option} " in f" {unknown} "]
    ours = tuple(option for option in unknown.split() if option not in theirs)
    found = replace(known, unknown=(*known.unknown, *ours))
    if not theirs:
        return found if ours else known
    step = _install("the plug-in that adds it" if len(theirs) == 1 else "the plug-ins that add them", interpreter)
    gap = Gap("The tests ran without options of addopts", f"pytest does not know {' '.join(theirs)} here", step)
    return _and(found, gap, _addopts(_without_options(fault.addopts, theirs)))


def _and_setting(known: Without, fault: Fault, setting: str, interpreter: Interpreter) -> Without:
    """Have pytest pass over a setting that it does not know, however strict it is told to be."""
    step = _install("the plug-in that adds it", interpreter)
    gap = Gap(f"The tests ran without the setting {setting}", "pytest does not know it here", step)
    strict = [option for option in fault.addopts if option == "--strict-config"]
    lenient = [_addopts(_without_options(fault.addopts, strict))] if strict else []
    return _and(known, gap, "-Wignore:Unknown config option", "--override-ini=strict_config=false", *lenient)


def _without_options(options: Sequence[str], unknown: Collection[str]) -> Iterator[str]:
    """Yield *options* without those *unknown*, and without a value that stands behind one of them."""
    before = ""
    for option in options:
        if option not in unknown and not (before in unknown and "=" not in before and not option.startswith("-")):
            yield option
        before = option


def _without_plugin(options: tuple[str, ...], name: str) -> tuple[str, ...]:
    """Return *options* without the first ``-p`` that names the plug-in *name*."""
    for at, option in enumerate(options):
        if name and option == f"-p{name}":
            return options[:at] + options[at + 1 :]
        if name and options[at : at + 2] == ("-p", name):
            return options[:at] + options[at + 2 :]
    return options


def _addopts(options: Iterable[str]) -> str:
    return f"--override-ini=addopts={shlex.join(options)}"


def _why(fault: Fault) -> str:
    missing = _NO_MODULE.search(fault.message)
    return missing[0] if missing else fault.message


def _next_step(fault: Fault, shadow: Shadow, interpreter: Interpreter) -> str:
    missing = _NO_MODULE.search(fault.message)
    package = missing[1].partition(".")[0] if missing else ""
    places = (package, f"{package}.py", f"src/{package}", f"src/{package}.py")
    # What is the repository's own cannot be installed.
    if package and not any(shadow.on_disk(place).exists() for place in places):
        return _install(package, interpreter)
    return f"Mend {fault.conftest or fault.installed or fault.named}, then try again."


def _install(what: str, interpreter: Interpreter) -> str:
    return f"Install {what} into {interpreter.path}, then try again."
