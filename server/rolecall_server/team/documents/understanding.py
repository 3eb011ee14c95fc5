"""The facts about a repository that need no model: ten lines from the code graph and from its own declarations."""

from __future__ import annotations

import configparser
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, cast

from rolecall_analysis import Definition, Snapshot, import_graph, importers, is_python, is_test
from rolecall_analysis.languages import language_of
from rolecall_server.team.documents.requirements import Fact, Understanding
from rolecall_server.workspace import Workspace, file_exists, read_text_or_none

MAX_NAMES = 6
"""So many names are told of a kind; how many there are is told as well."""

_READMES = ("README.md", "README.rst", "README.txt", "README")
_MAX_WORDS = 40
_PRIVATE = re.compile(r"[./]_(?!_)")
_NOT_CODE = ("docs", "doc", "examples", "example", "benchmarks", "scripts", "tests", "test")


def understand(snapshot: Snapshot, workspace: Workspace) -> Understanding:
    """Return the repository in at most ten facts; what is not known is left out.

    *snapshot* is of all of it. The developer may add corrections, which go before the facts.
    """
    project = _project(workspace)
    code = [path for path in snapshot.files if not is_test(snapshot, path)]
    told = {
        "What it is": _what_it_is(workspace, project),
        "Languages": _languages(snapshot),
        "Packages": _packages(snapshot, code),
        "Entry points": _entry_points(workspace, project, code),
        "Public names": _public_names(snapshot, code),
        "Most depended on": _most_depended_on(snapshot, code),
        "Largest files": _largest(snapshot, code),
        "Tests": _tests(snapshot, workspace, project),
        "Conventions": _conventions(snapshot, project, code),
        "Needs": _needs(project),
    }
    title = _text(project, "name") or workspace.root.name or "repository"
    facts = tuple(Fact(topic=topic, text=text) for topic, text in told.items() if text)
    return Understanding(title=title, facts=facts)


def front_pages(snapshot: Snapshot, workspace: Workspace, path: str = "") -> dict[str, str]:
    """Return the files where the repository says what it is to others, each path with a word about it.

    Its README, and the file that says which names the package of *path* gives away, or else the largest package.
    """
    code = [each for each in snapshot.files if not is_test(snapshot, each)]
    own = f"{_package_of(snapshot, path)}/__init__.py" if path else ""
    inits = [own] if own in snapshot.files else [*_package_files(snapshot, code)]
    readme = next((name for name in _READMES if file_exists(workspace, name)), "")
    found = {readme: "what the repository says of itself"}
    found |= dict.fromkeys(inits[:1], "the names that its package gives to others")
    return {path: why for path, why in found.items() if path}


def _project(workspace: Workspace) -> Mapping[str, Any]:
    """``[project]`` of ``pyproject.toml``, with all its tools under ``tool``; empty where there is none to be read."""
    try:
        read = tomllib.loads(read_text_or_none(workspace, "pyproject.toml") or "")
    except (ValueError, RecursionError):
        return {}
    poetry = _table(_table(read.get("tool")).get("poetry"))
    return {**poetry, **_table(read.get("project")), "tool": _table(read.get("tool"))}


def _what_it_is(workspace: Workspace, project: Mapping[str, Any]) -> str:
    if description := _text(project, "description"):
        return description
    for name in _READMES:
        if text := read_text_or_none(workspace, name):
            return _first_words(text)
    return ""


def _first_words(readme: str) -> str:
    """Return the title of a README and the first sentence below it that is text."""
    paragraphs = [" ".join(part.split()) for part in re.split(r"\n\s*\n", readme)]
    texts = [re.sub(r"^#+\s*", "", part) for part in paragraphs if re.match(r"#*\s*\w", part)]
    words = " · ".join(texts[:2]).replace(" ===", "").split()
    return " ".join(words[:_MAX_WORDS]) + (" …" if len(words) > _MAX_WORDS else "")


def _languages(snapshot: Snapshot) -> str:
    counted = Counter(language_of(path) or "other" for path in snapshot.files)
    return ", ".join(f"{name} ({_count(n, 'file')})" for name, n in _most(counted, MAX_NAMES))


def _packages(snapshot: Snapshot, code: Sequence[str]) -> str:
    """Return the folders that code lies in, the largest first, with what is defined there."""
    sizes: Counter[str] = Counter()
    files: Counter[str] = Counter()
    for path in code:
        folder = _package_of(snapshot, path)
        if folder.split("/")[0] not in _NOT_CODE:
            files[folder] += 1
            sizes[folder] += len(_defined(snapshot, path))
    named = (
        f"`{folder or '.'}` ({_count(files[folder], 'file')}, {_count(n, 'definition')})"
        for folder, n in _most(sizes, MAX_NAMES)
    )
    return _listed(named, len(sizes))


def _package_of(snapshot: Snapshot, path: str) -> str:
    """Return the outermost package of a Python file, else its first folder or, under ``src``, its second."""
    folders = path.split("/")[:-1]
    if is_python(path):
        for depth in range(1, len(folders) + 1):
            folder = "/".join(folders[:depth])
            if f"{folder}/__init__.py" in snapshot.files:
                return folder
    return "/".join(folders[: 2 if folders[:1] in (["src"], ["packages"], ["crates"]) else 1])


def _entry_points(workspace: Workspace, project: Mapping[str, Any], code: Sequence[str]) -> str:
    scripts = [f"`{name}` runs `{what}`" for name, what in sorted(_table(project.get("scripts")).items())]
    mains = [f"`{path}`" for path in sorted(code) if path.endswith("__main__.py") and path.count("/") <= 2]
    others = [f"`{name}`" for name in ("manage.py", "Makefile", "package.json") if file_exists(workspace, name)]
    found = [*scripts, *mains, *others]
    return _listed(found[:MAX_NAMES], len(found))


def _public_names(snapshot: Snapshot, code: Sequence[str]) -> str:
    """Return the names that the largest package gives to others: what its ``__init__`` defines and imports without an
    underscore.
    """
    for path in _package_files(snapshot, code):
        facts, root = snapshot.files[path], path.removesuffix("__init__.py").rstrip("/")
        names = [each.name for each in facts.definitions if not each.scope]
        own = [each for each in facts.imports if each.level or each.module.split(".")[0] == root.rpartition("/")[2]]
        names += [each.bound_name for each in own if not each.scope and not each.is_star]
        public = list(dict.fromkeys(name for name in names if not name.startswith("_") and "." not in name))
        if public:
            return f"`{root or '.'}` gives {_listed((f'`{name}`' for name in public[:MAX_NAMES]), len(public))}"
    return ""


def _package_files(snapshot: Snapshot, code: Sequence[str]) -> Iterator[str]:
    """Yield the ``__init__.py`` of each outermost package, that of the largest first."""
    roots = Counter(_package_of(snapshot, path) for path in code if is_python(path))
    for root, _ in _most(roots, len(roots)):
        path = f"{root}/__init__.py".lstrip("/")
        if path in snapshot.files and root.split("/")[0] not in _NOT_CODE:
            yield path


def _most_depended_on(snapshot: Snapshot, code: Sequence[str]) -> str:
    """Return the files that most others import; Python files are counted all at once, those of other languages one by
    one.
    """
    counted: Counter[str] = Counter()
    for importing, imported in import_graph(snapshot).items():
        if not any(part.startswith("test") for part in importing.split(".")):
            counted.update(f"`{module}`" for module in imported)
    others = [path for path in code if not is_python(path)]
    if len(others) <= _MAX_ASKED:
        counted.update({f"`{path}`": len(importers(snapshot, path)) for path in others})
    found = [(name, n) for name, n in _most(counted, MAX_NAMES) if n > 1]
    return ", ".join(f"{name} ({_count(n, 'importer')})" for name, n in found)


_MAX_ASKED = 500
"""Importers of more files than this are not looked for one by one."""


def _largest(snapshot: Snapshot, code: Sequence[str]) -> str:
    sizes = Counter({path: len(_defined(snapshot, path)) for path in code})
    return ", ".join(f"`{path}` ({_count(n, 'definition')})" for path, n in _most(sizes, 3) if n)


def _tests(snapshot: Snapshot, workspace: Workspace, project: Mapping[str, Any]) -> str:
    paths = [path for path in snapshot.files if is_test(snapshot, path)]
    if not paths:
        return "none were found"
    folders = Counter(str(PurePosixPath(path).parent) for path in paths)
    n_tests = sum(
        each.name.startswith("test") and each.kind in ("function", "method")
        for path in paths
        if is_python(path)
        for each in snapshot.files[path].definitions
    )
    counted = f"{_count(n_tests, 'test')} in " if n_tests else ""
    where = ", ".join(f"`{folder}`" for folder, _ in _most(folders, 2))
    runner = _runner(snapshot, workspace, project, paths)
    return f"{counted}{_count(len(paths), 'file')}, most in {where}" + (f"; run by {runner}" if runner else "")


def _runner(snapshot: Snapshot, workspace: Workspace, project: Mapping[str, Any], paths: Iterable[str]) -> str:
    """Return the runner of the tests: by configuration, else by what they import and how they are written."""
    # Not strict: two files are read into one, and may have sections of the same name.
    configured = configparser.ConfigParser(strict=False)
    for name in ("setup.cfg", "tox.ini"):
        with_text = read_text_or_none(workspace, name) or ""
        try:
            configured.read_string(with_text)
        except configparser.Error:
            continue
    is_configured = "pytest" in _table(project.get("tool")) or any("pytest" in each for each in configured.sections())
    if is_configured or file_exists(workspace, "pytest.ini") or file_exists(workspace, "conftest.py"):
        return "pytest"
    facts = [snapshot.files[path] for path in paths if is_python(path)]
    imported = Counter(each.module.partition(".")[0] for known in facts for each in known.imports)
    bare = any(
        each.kind == "function" and each.name.startswith("test") for known in facts for each in known.definitions
    )
    if imported["pytest"] or (bare and not imported["unittest"]):
        return "pytest"
    return "unittest" if imported["unittest"] else ""


def _conventions(snapshot: Snapshot, project: Mapping[str, Any], code: Sequence[str]) -> str:
    """Describe how the code is written: docstrings and annotations as it has them, tools as they are configured."""
    functions = [
        each
        for path in code
        if is_python(path)
        for each in snapshot.files[path].definitions
        if each.kind in ("function", "method") and not each.name.startswith("_")
    ]
    told: list[str] = []
    if functions:
        documented = sum(bool(each.docstring) for each in functions)
        annotated = sum("->" in each.signature for each in functions)
        n = _count(len(functions), "public function")
        told.append(f"of {n} {documented} have a docstring, {annotated} say what they return")
    tools = _table(project.get("tool"))
    used = [name for name in ("ruff", "black", "isort", "flake8", "pylint", "mypy", "pyright") if name in tools]
    if used:
        told.append(f"{', '.join(used)} configured")
    lengths = (_table(tools.get(name)).get("line-length") for name in ("ruff", "black"))
    told += [f"lines of at most {length}" for length in lengths if isinstance(length, int)][:1]
    return "; ".join(told)


def _needs(project: Mapping[str, Any]) -> str:
    """Return the Python version and the packages that the project needs."""
    declared = project.get("dependencies")
    listed = cast("Iterable[Any]", declared) if isinstance(declared, list | dict) else ()
    packages = [re.split(r"[^\w.-]", str(each))[0] for each in listed]
    python = _text(project, "requires-python")
    named = _listed((f"`{name}`" for name in packages[:MAX_NAMES] if name), len(packages))
    return "; ".join(part for part in (f"Python {python}" if python else "", named) if part)


def _defined(snapshot: Snapshot, path: str) -> list[Definition]:
    return [each for each in snapshot.files[path].definitions if each.kind != "variable"]


def _most(counted: Counter[str], n: int) -> list[tuple[str, int]]:
    """Return the *n* largest; equal ones are sorted with public names first, then by name, so that a repository is
    always described in the same words.
    """
    return sorted(counted.items(), key=lambda one: (-one[1], bool(_PRIVATE.search(one[0])), one[0]))[:n]


def _listed(names: Iterable[str], n_all: int) -> str:
    """Return the names as a text, and how many more there are."""
    shown = [*names]
    more = n_all - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _text(table: Mapping[str, Any], name: str) -> str:
    value = table.get(name)
    return value.strip() if isinstance(value, str) else ""


def _table(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def lines_of(understanding: Understanding) -> Iterator[str]:
    """Yield the lines that are held to be true: the developer's corrections, then the facts."""
    yield from understanding.corrections
    yield from (f"{fact.topic}: {fact.text}" for fact in understanding.facts)
