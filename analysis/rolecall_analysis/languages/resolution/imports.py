"""The files to which an import statement of another language than Python leads.

The rule is the language's: by relative path, by what a build file says (``go.mod``, ``tsconfig.json``,
``package.json``, ``composer.json``, ``Cargo.toml``), or by the custom that a package is a folder.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from rolecall_analysis.languages.resolution.build_files import (
    cargo_crate,
    composer_roots,
    go_module,
    package_entry,
    typescript_paths,
)
from rolecall_analysis.languages.table import language_of
from rolecall_analysis.values import Import


@dataclass(frozen=True, slots=True)
class ImportTargets:
    """The files to which an import leads."""

    paths: tuple[str, ...] = ()
    """None of them: outside of the repository, or nowhere."""
    certain: bool = True
    """The language's own rule leads there, not a likeness of names."""


_NOWHERE = ImportTargets()


@dataclass(frozen=True)
class Project:
    """The files that imports can lead to, and what build files say about their names."""

    paths: frozenset[str]
    text: Callable[[str], str | None]
    """The content of a file of the repository that need not be among the *paths*; None if there is none."""

    known: dict[tuple[str, str, str | None], ImportTargets] = field(
        default_factory=dict[tuple[str, str, str | None], ImportTargets]
    )
    """The targets found so far, by file, module and name."""

    @cached_property
    def by_folder(self) -> Mapping[str, tuple[str, ...]]:
        """The files directly in each folder."""
        return _grouped((posixpath.dirname(path), path) for path in self.paths)

    @cached_property
    def by_name(self) -> Mapping[str, tuple[str, ...]]:
        """The files with each name."""
        return _grouped((posixpath.basename(path), path) for path in self.paths)

    @cached_property
    def folders(self) -> frozenset[str]:
        """Every folder with a file in or below it; the root is empty."""
        found: set[str] = set()
        for folder in self.by_folder:
            found.update(_upwards(folder))
        return frozenset(found)

    @cached_property
    def go_modules(self) -> Mapping[str, str]:
        """Folders by the name that ``go.mod`` gives them."""
        return self._named_folders("go.mod", go_module)

    @cached_property
    def npm_packages(self) -> Mapping[str, str]:
        """Folders by the name that ``package.json`` gives them."""
        return self._named_folders("package.json", lambda text: package_entry(text)[0])

    @cached_property
    def crates(self) -> Mapping[str, str]:
        """Folders by the name that ``Cargo.toml`` gives them, as code writes it."""
        return self._named_folders("Cargo.toml", cargo_crate)

    @cached_property
    def php_roots(self) -> tuple[tuple[str, str], ...]:
        """Namespaces and the folders that ``composer.json`` keeps them in, longest first."""
        found = [
            (namespace, _join(folder, root))
            for folder in self.folders
            if (text := self.text(_join(folder, "composer.json"))) is not None
            for namespace, root in composer_roots(text)
        ]
        return tuple(sorted(found, key=lambda pair: -len(pair[0])))

    @cached_property
    def typescript_roots(self) -> Mapping[str, tuple[tuple[str, str], ...]]:
        """By folder with a ``tsconfig.json``: patterns of module names and of paths."""
        found: dict[str, tuple[tuple[str, str], ...]] = {}
        for folder in self.folders:
            for name in ("tsconfig.json", "jsconfig.json"):
                text = self.text(_join(folder, name))
                if text is not None and (paths := typescript_paths(text)):
                    found[folder] = tuple((pattern, _join(folder, target)) for pattern, target in paths)
                    break
        return found

    def _named_folders(self, file_name: str, name_in: Callable[[str], str]) -> Mapping[str, str]:
        texts = ((folder, self.text(_join(folder, file_name))) for folder in sorted(self.folders))
        named = ((name_in(text), folder) for folder, text in texts if text is not None)
        return {name: folder for name, folder in named if name}


def imported_files(project: Project, path: str, imported: Import) -> ImportTargets:
    """Return the files that the import *imported* in the file *path* names, or that hold what it names."""
    key = path, imported.module, imported.name
    found = project.known.get(key)
    if found is None:
        find = _RULES.get(language_of(path) or "")
        found = project.known[key] = find(project, path, imported) if find is not None else _NOWHERE
    return found


# JavaScript and TypeScript

_SCRIPT_SUFFIXES = (".ts", ".tsx", ".d.ts", ".js", ".jsx", ".mjs", ".cjs", ".mts", ".cts")
# TypeScript imports a file by the name that the compiled one will have: `./price.js` is `price.ts`.
_WRITTEN_SUFFIXES = {".js": (".ts", ".tsx"), ".jsx": (".tsx",), ".mjs": (".mts",), ".cjs": (".cts",)}


def _script(project: Project, path: str, imported: Import) -> ImportTargets:
    # Bundlers take a query after the path: `./worker.js?worker`.
    module = imported.module.partition("?")[0]
    if module.startswith("."):
        return _one(_script_file(project, _join(posixpath.dirname(path), module)))
    for place in _configured(project, path, module):
        if (found := _script_file(project, place)) is not None:
            return ImportTargets((found,))
    return _one(_package_file(project, module))


def _script_file(project: Project, place: str) -> str | None:
    stem, suffix = posixpath.splitext(place)
    candidates = [place]
    candidates += [stem + other for other in _WRITTEN_SUFFIXES.get(suffix, ())]
    candidates += [place + other for other in _SCRIPT_SUFFIXES]
    candidates += [_join(place, f"index{other}") for other in _SCRIPT_SUFFIXES]
    return next((one for one in candidates if one in project.paths), None)


def _configured(project: Project, path: str, module: str) -> Iterable[str]:
    for folder in _upwards(posixpath.dirname(path)):
        for pattern, target in project.typescript_roots.get(folder, ()):
            before, star, after = pattern.partition("*")
            if not star and module == pattern:
                yield target
            elif star and module.startswith(before) and module.endswith(after):
                yield target.replace("*", module[len(before) : len(module) - len(after)], 1)


def _package_file(project: Project, module: str) -> str | None:
    """Return the file of a module in a package that is a folder of the repository."""
    parts = module.split("/")
    n_name = 2 if module.startswith("@") else 1  # a scope is a part of the name: `@shop/price`
    folder = project.npm_packages.get("/".join(parts[:n_name]))
    if folder is None:
        return None
    inner = "/".join(parts[n_name:])
    if inner:
        places = [_join(folder, inner), _join(folder, f"src/{inner}")]
    else:
        entries = package_entry(project.text(_join(folder, "package.json")) or "")[1]
        # An entry often names a file that a build makes and no repository keeps: then where sources usually lie.
        places = [*(_join(folder, entry) for entry in entries), _join(folder, "src"), folder, _join(folder, "lib")]
    return next((found for place in places if (found := _script_file(project, place)) is not None), None)


# Go, Rust


def _go(project: Project, _path: str, imported: Import) -> ImportTargets:
    # The longest name first: a module may lie in the folder of another one, and its name then begins with that one's.
    for name in sorted(project.go_modules, key=len, reverse=True):
        if imported.module == name or imported.module.startswith(f"{name}/"):
            folder = _join(project.go_modules[name], imported.module[len(name) + 1 :])
            return ImportTargets(_go_files(project, folder))
    parts = imported.module.split("/")
    # Only packages of the standard library have no dot in the first part of their path.
    if project.go_modules or "." not in parts[0]:
        return _NOWHERE
    tails = ("/".join(parts[n:]) for n in range(1, len(parts)))
    folder = next((tail for tail in tails if tail in project.by_folder), None)
    return _NOWHERE if folder is None else ImportTargets(_go_files(project, folder), certain=False)


def _go_files(project: Project, folder: str) -> tuple[str, ...]:
    files = project.by_folder.get(folder, ())
    # What test files define is not there for those who import the package.
    return tuple(path for path in files if path.endswith(".go") and not path.endswith("_test.go"))


def _rust(project: Project, path: str, imported: Import) -> ImportTargets:
    """Return the file of the longest beginning of the imported path that is a module."""
    parts = [*imported.module.split("::"), *([imported.name] if imported.name and imported.name != "*" else [])]
    place = _rust_start(project, path, parts)
    if place is None:
        return _NOWHERE
    folder, rest, own_file = place
    for n in range(len(rest), -1, -1):
        inner = _join(folder, "/".join(rest[:n]))
        candidates = [f"{inner}.rs", f"{inner}/mod.rs"] if n else [own_file]
        if (found := next((one for one in candidates if one in project.paths), None)) is not None:
            return ImportTargets((found,))
    return _NOWHERE


def _rust_start(project: Project, path: str, parts: list[str]) -> tuple[str, list[str], str] | None:
    """Return the folder with the modules that *parts* name, the parts that remain, and the file that is the folder's
    own module.
    """
    head, *rest = parts
    if head == "crate":
        root = _crate_root(project, path)
        return posixpath.dirname(root), rest, root
    if head in {"self", "super"}:
        folder, own_file = _module_folder(path), path
        while head == "super" or rest[:1] == ["super"]:
            folder, own_file = posixpath.dirname(folder), _module_file(project, posixpath.dirname(folder))
            if head == "super":
                head = "self"
            else:
                rest = rest[1:]
        return folder, rest, own_file
    crate = project.crates.get(head)
    if crate is not None:
        root = next(
            (one for name in ("src/lib.rs", "lib.rs", "src/main.rs") if (one := _join(crate, name)) in project.paths),
            "",
        )
        return (posixpath.dirname(root), rest, root) if root else None
    folder = _module_folder(path)
    is_child = any(_join(folder, f"{head}{end}") in project.paths for end in (".rs", "/mod.rs"))
    return (folder, parts, path) if is_child else None


def _crate_root(project: Project, path: str) -> str:
    for folder in _upwards(posixpath.dirname(path)):
        for name in ("lib.rs", "main.rs"):
            if _join(folder, name) in project.paths:
                return _join(folder, name)
    return path


def _module_folder(path: str) -> str:
    """Return the folder in which the children of the module in *path* lie."""
    stem, name = path.removesuffix(".rs"), posixpath.basename(path)
    return posixpath.dirname(path) if name in {"lib.rs", "main.rs", "mod.rs", "build.rs"} else stem


def _module_file(project: Project, folder: str) -> str:
    candidates = (f"{folder}.rs", *(_join(folder, name) for name in ("mod.rs", "lib.rs", "main.rs")))
    return next((one for one in candidates if one in project.paths), "")


# Java, PHP, Ruby, C


def _java(project: Project, _path: str, imported: Import) -> ImportTargets:
    parts = imported.module.split(".")
    if imported.name == "*":
        files = _in_package(project, parts)
        # `import static shop.Price.*` takes the members of a type.
        return files if files.paths else _type_file(project, parts)
    return _type_file(project, [*parts, imported.name or ""])


def _type_file(project: Project, parts: list[str]) -> ImportTargets:
    """Return the file of a type, or of the type around it: the last parts may be members."""
    for n in range(len(parts), max(len(parts) - 3, 0), -1):
        found = _ending(project, f"{'/'.join(parts[:n])}.java")
        if found:
            return ImportTargets(found, certain=len(found) == 1)
    return _NOWHERE


def _in_package(project: Project, parts: list[str]) -> ImportTargets:
    tail = "/".join(parts)
    folders = [one for one in project.by_folder if one == tail or one.endswith(f"/{tail}")]
    return ImportTargets(
        tuple(path for one in sorted(folders) for path in project.by_folder[one] if path.endswith(".java"))
    )


def _php(project: Project, path: str, imported: Import) -> ImportTargets:
    if imported.name == "*":
        return _included(project, path, imported.module)
    whole = f"{imported.module}\\{imported.name}".strip("\\")
    for namespace, folder in project.php_roots:
        if whole.startswith(namespace):
            place = _join(folder, whole[len(namespace) :].replace("\\", "/") + ".php")
            if place in project.paths:
                return ImportTargets((place,))
    parts = whole.split("\\")
    tails = ("/".join(parts[n:]) + ".php" for n in range(len(parts)))
    found = next((found for tail in tails if (found := _ending(project, tail))), ())
    return ImportTargets(found, certain=False)


def _c(project: Project, path: str, imported: Import) -> ImportTargets:
    # `<price.h>` is not looked for beside the file.
    return _included(project, path, imported.module.strip("<>"), is_relative=not imported.module.startswith("<"))


def _included(project: Project, path: str, written: str, *, is_relative: bool = True) -> ImportTargets:
    """Return the file at a path relative to the including file; else the files whose paths end so, the
    nearest first.
    """
    place = _join(posixpath.dirname(path), written)
    if is_relative and place in project.paths:
        return ImportTargets((place,))
    # The dots and slashes of a leading `../` say nothing about how the path ends.
    found = _ending(project, posixpath.normpath(written).lstrip("./"))
    if len(found) > 1:
        folder = posixpath.dirname(path)
        nearest = max(len(posixpath.commonprefix((one, folder))) for one in found)
        found = tuple(one for one in found if len(posixpath.commonprefix((one, folder))) == nearest)
        return ImportTargets(found, certain=False)
    return ImportTargets(found, certain=is_relative or "/" in written)


def _ruby(project: Project, path: str, imported: Import) -> ImportTargets:
    written = imported.module if imported.module.endswith(".rb") else f"{imported.module}.rb"
    if written.startswith("."):
        return _one(place if (place := _join(posixpath.dirname(path), written)) in project.paths else None)
    found = _ending(project, written)
    # The load path has the `lib` of every gem.
    in_lib = tuple(one for one in found if f"/{one}".endswith(f"/lib/{written}"))
    return ImportTargets(in_lib or found, certain=len(in_lib) == 1)


_RULES: Mapping[str, Callable[[Project, str, Import], ImportTargets]] = {
    **dict.fromkeys(("javascript", "javascriptreact", "typescript", "typescriptreact"), _script),
    "go": _go,
    "rust": _rust,
    "java": _java,
    "php": _php,
    "c": _c,
    "cpp": _c,
    "ruby": _ruby,
}


def _one(path: str | None) -> ImportTargets:
    return ImportTargets((path,)) if path is not None else _NOWHERE


def _ending(project: Project, tail: str) -> tuple[str, ...]:
    """Return the files whose path ends with the whole parts of *tail*."""
    named = project.by_name.get(posixpath.basename(tail), ())
    return tuple(path for path in named if path == tail or path.endswith(f"/{tail}"))


def _join(folder: str, path: str) -> str:
    joined = posixpath.normpath(posixpath.join(folder, path))
    return "" if joined == "." else joined


def _upwards(folder: str) -> Iterable[str]:
    while folder:
        yield folder
        folder = posixpath.dirname(folder)
    yield ""


def _grouped(pairs: Iterable[tuple[str, str]]) -> Mapping[str, tuple[str, ...]]:
    groups: dict[str, list[str]] = {}
    for key, value in sorted(pairs):
        groups.setdefault(key, []).append(value)
    return {key: tuple(values) for key, values in groups.items()}
