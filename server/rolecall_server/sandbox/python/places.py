"""The places that a Python has to read, found out without starting it: nothing that it says of itself opens a folder.

Environments, the Pythons beneath them and what is installed there are shown behind walls. Whatever else a file in them
names (a line of a ``.pth`` file, a link) is left out, because such files may come with the repository.

Source: docs.python.org, ``site`` and ``venv``; packaging.python.org, "Recording the Direct URL Origin of installed
distributions".
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from rolecall_server.sandbox.walls.bubblewrap import SYSTEM
from rolecall_server.sandbox.walls.programs import links_of
from rolecall_server.workspace import read_beginning

_MOST_BYTES = 64 * 1024
"""Of a file that says where something lies."""
_MOST_NAMED, _MOST_CHARACTERS = 3, 300
_PROJECT_FILES = ("pyproject.toml", "setup.py", "setup.cfg")
_PYTHON = re.compile(r"(?:python|pypy)[\w.-]*")


@dataclass(frozen=True)
class HiddenFolder:
    """A folder that something installed names, and that is not shown."""

    place: Path
    named_by: Path
    """The ``.pth`` file, link or ``direct_url.json`` that names it."""

    def __str__(self) -> str:
        return f"{self.place}, which {self.named_by} names"


@dataclass(frozen=True)
class PythonPlaces:
    """The places that a Python may read besides the system's own places and the workspace."""

    prefixes: tuple[Path, ...]
    """The environment and the Python beneath it."""
    shown: tuple[Path, ...]
    """All that is shown: `prefixes`, the links that its program is reached by, and installed projects elsewhere."""
    left_out: tuple[HiddenFolder, ...] = ()

    @property
    def left_out_words(self) -> str:
        """Return the places that are not shown, for a sentence to end with; empty if there are none."""
        if not self.left_out:
            return ""
        named = [_shortened(str(each)) for each in self.left_out[:_MOST_NAMED]]
        more = len(self.left_out) - len(named)
        return f"; not shown: {', '.join(named)}{f', and {more} more' if more else ''}"

    def hold(self, place: Path) -> bool:
        """Return whether *place* lies in what is shown, or in the system's own places, links followed."""
        real = place.resolve()
        return any(real.is_relative_to(floor.resolve()) for floor in (*self.shown, *map(Path, SYSTEM)))


def places_of(program: Path, root: Path) -> PythonPlaces:
    """Return what the Python *program* may read, for a workspace at *root*.

    A project elsewhere is shown where an installed distribution says that it is installed from there, to be edited
    (``direct_url.json``), and it is one: a folder with a ``pyproject.toml``, ``setup.py`` or ``setup.cfg`` that does
    not lie below a folder of the home directory whose name begins with a dot.
    """
    files = [program, *links_of(program)]
    prefixes = tuple(dict.fromkeys(_prefixes(files, root)))
    links = [file for file in files if _PYTHON.fullmatch(file.name) and not file.is_relative_to(root)]
    sites = _site_folders(prefixes)
    known = PythonPlaces(prefixes, (*prefixes, *links, *(site for site in sites if _is_users(site))))
    projects, refused = _projects(sites, root)
    entries = [
        (place, named_by) for site in sites for place, named_by in _named(site) if not _is_shown(known, place, root)
    ]
    shown, left_out = list(known.shown), list(refused)
    for project in projects:
        inside = [place for place, _ in entries if place.resolve().is_relative_to(project.resolve())]
        shown += inside or [project]  # where an import hook finds its modules, no line of a file names them
    for place, named_by in entries:
        if not any(place.resolve().is_relative_to(project.resolve()) for project in projects):
            left_out.append(HiddenFolder(place, named_by))
    return PythonPlaces(prefixes, tuple(dict.fromkeys(shown)), tuple(dict.fromkeys(left_out)))


def import_folders(program: Path, root: Path) -> tuple[Path, ...]:
    """Return the folders from which the Python *program* imports its library and what is installed, by where they lie.

    Of the Python beneath an environment what is installed counts only where the environment uses it.
    """
    prefixes = list(_prefixes([program, *links_of(program)], root))
    environments = [prefix for prefix in prefixes if _is_environment(prefix)]
    uses_others = all(_setting(one / "pyvenv.cfg", "include-system-site-packages") == "true" for one in environments)
    library = [found.parent for prefix in prefixes for found in sorted(prefix.glob("lib*/py*/os.py"))]
    sites = _site_folders(tuple(prefixes if uses_others else environments))
    folders = (*library, *(one / "lib-dynload" for one in library), *sites)
    return tuple(dict.fromkeys(one.resolve() for one in folders if one.is_dir()))


def _prefixes(files: list[Path], root: Path) -> Iterator[Path]:
    """Yield the environment of the first of *files*, and the Pythons that all of them lie in or are made of.

    By their own and by their real paths. An environment counts only where its own program is started: of a link to
    that, Python does not look at the environment.
    """
    program = files[0].parent.parent
    own = [program, program.resolve()]
    beneath = [folder for file in files for folder in (file.parent.parent, file.parent.parent.resolve())]
    if (base := Path(_setting(program / "pyvenv.cfg", "home"))).is_absolute():
        beneath += [base.parent, base.parent.resolve()]
    for found in (*filter(_is_environment, own), *filter(_holds_python, beneath)):
        # A link in the workspace stays one there: what it leads to has a place of its own.
        is_link_of_workspace = found.is_relative_to(root) and found != found.resolve()
        if not is_link_of_workspace and not Path.home().is_relative_to(found):
            yield found


def _is_environment(folder: Path) -> bool:
    return (folder / "pyvenv.cfg").is_file()


def _holds_python(folder: Path) -> bool:
    return any(folder.glob("lib*/py*/os.py"))


def _site_folders(prefixes: tuple[Path, ...]) -> list[Path]:
    """Return the folders that packages are installed in, the user's own where the environment uses them."""
    configurations = [prefix / "pyvenv.cfg" for prefix in filter(_is_environment, prefixes)]
    uses_others = all(_setting(each, "include-system-site-packages") == "true" for each in configurations)
    users = [Path.home() / ".local"] if uses_others else []
    floors = dict.fromkeys(folder.resolve() for folder in (*prefixes, *users))
    sites = [site.resolve() for floor in floors for site in sorted(floor.glob("lib*/py*/*-packages"))]
    return [site for site in dict.fromkeys(sites) if site.is_dir()]


def _is_users(site: Path) -> bool:
    return site.is_relative_to((Path.home() / ".local").resolve())


def _projects(sites: list[Path], root: Path) -> tuple[list[Path], list[HiddenFolder]]:
    """Return the folders outside of *root* that distributions in *sites* are installed from, and those left out."""
    shown: list[Path] = []
    refused: list[HiddenFolder] = []
    for record in (record for site in sites for record in sorted(site.glob("*.dist-info/direct_url.json"))):
        place = _editable(_read_json(record))
        if place is None or place.is_relative_to(root) or not place.is_dir():
            continue
        if _may_be_shown(place.resolve()):
            shown.append(place)
        else:
            refused.append(HiddenFolder(place, record))
    return shown, refused


def _editable(said: Any) -> Path | None:
    """Return the folder that *said*, a ``direct_url.json``, is about, where it is installed to be edited."""
    try:
        url = urlsplit(str(said["url"]))
        if url.scheme == "file" and said["dir_info"]["editable"] is True:
            place = Path(unquote(url.path))
            return place if place.is_absolute() and ".." not in place.parts else None
    except (KeyError, TypeError, ValueError, AttributeError):
        pass
    return None


def _may_be_shown(place: Path) -> bool:
    """Return whether *place* is somebody's project, and nothing that programs keep in the home directory."""
    home = Path.home().resolve()
    if home.is_relative_to(place):
        return False
    if place.is_relative_to(home) and place.relative_to(home).parts[0].startswith("."):
        return False
    return any((place / name).is_file() for name in _PROJECT_FILES)


def _named(site: Path) -> Iterator[tuple[Path, Path]]:
    """Yield each place that a line of a ``.pth`` file in *site*, or a link, leads to, and what names it."""
    with suppress(OSError):
        for entry in sorted(site.iterdir()):
            if entry.is_symlink():
                yield entry.resolve(), entry
            elif entry.suffix == ".pth":
                for line in _read(entry).splitlines():
                    # A line that begins with `import` names no folder: it is code, which Python runs at its start.
                    if (
                        (text := line.strip())
                        and not text.startswith(("#", "import ", "import\t"))
                        and "\0" not in text
                    ):
                        yield site / text, entry


def _is_shown(known: PythonPlaces, place: Path, root: Path) -> bool:
    """Return whether there is nothing to decide about *place*: gone, shown already, or the workspace's."""
    try:
        return not place.exists() or place.resolve().is_relative_to(root) or known.hold(place)
    except OSError:  # a name that is too long, a loop of links
        return True


def _shortened(text: str) -> str:
    return text if len(text) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS]}…"


def _setting(file: Path, name: str) -> str:
    """Return the value of *name* in *file*, a ``pyvenv.cfg``; empty where it has none."""
    found = re.search(rf"^{name}[ \t]*=(.*)$", _read(file), re.MULTILINE)
    return found[1].strip() if found else ""


def _read_json(file: Path) -> Any:
    with suppress(ValueError, RecursionError):
        return json.loads(_read(file))
    return None


def _read(file: Path) -> str:
    return read_beginning(file, _MOST_BYTES).decode("utf-8", "replace")
