"""Repositories whose files have odd names, lead elsewhere, keep a reader for ever, or are too much for one."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Mapping
from pathlib import Path

from rolecall_server.workspace import MAX_FILE_BYTES
from support.traps import OURS, SECRET, SHELL, Trap
from support.workspaces import FILES

_FUNCTION = "def f():\n    return g()\n\n\ndef g():\n    return 1\n"


def _made(path: str, make: Callable[[Path], None]) -> Callable[[Path], None]:
    """Return what puts something else in place of a file."""

    def plant(root: Path) -> None:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).unlink(missing_ok=True)
        make(root / path)

    return plant


def _called(name: str) -> Callable[[Path], None]:
    """Return what makes a file with that name, of which half a surrogate stands for a byte."""

    def plant(root: Path) -> None:
        (root / name).write_text(_FUNCTION)

    return plant


# -- names, and what links lead to


def _obeyed(what: str, name: str, shown: str) -> Trap:
    """A file whose name a terminal obeys."""
    return Trap(f"a name with {what}", ("ls", "-N", "shop"), "prints", plant=_called(f"shop/{name}"), shown=shown)


def _link(path: str, target: str) -> Callable[[Path], None]:
    return _made(path, lambda place: place.symlink_to(target))


_PRIVATE = {".env": f"# {SECRET}\n", ".aiignore": "private/\n", "private/notes.md": SECRET}


def _leading(path: str, target: str) -> Trap:
    """A link that leads to a secret; ``../home`` is the home directory."""
    return Trap(f"{path} leads to {target}", ("cat", path), "prints", files=_PRIVATE, plant=_link(path, target))


PRINTING = [
    _obeyed("an escape", "c\x1b[2Jx.py", "\x1b[2J"),
    _obeyed("a title for the terminal", "d\x1b]0;PWNED\x07.py", "\x1b]0;"),
    _obeyed("a letter that turns the line", "e\u202eyp.py", "\u202e"),
    _obeyed("a carriage return", "t\rok.py", "t\rok"),
    _obeyed("a control of the second set", "u\u009b31mx.py", "\u009b31m"),
    _leading("shop/key.py", "../../home/.ssh/id_rsa"),
    _leading("pyproject.toml", "../home/.ssh/id_rsa"),
    _leading("AGENTS.md", "private/notes.md"),
    _leading("tests/test_price.py", "../.env"),
]


def _spoken(what: str, name: str) -> Trap:
    careless = 'for name in shop/*; do eval "ls $name"; done'
    return Trap(
        f"a name with {what}",
        ("sh", "-c", f"PATH=.:$PATH; {careless}"),
        files={"strike": SHELL},
        plant=_called(f"shop/{name}"),
    )


def _mistaken(what: str, name: str, careless: str) -> Trap:
    return Trap(f"a name {what}", ("sh", "-c", careless), "fails", plant=_called(name))


NAMING = [
    _spoken("a command", "m$(strike)n.py"),
    _spoken("a second command", "m;strike;.py"),
    _mistaken("that is an option", "--nothing.py", "cat *.py"),
    _mistaken("of two lines", "shop/a\nb.py", 'ls -N shop | while read -r one; do [ -e "shop/$one" ] || exit 1; done'),
    _mistaken("that is no text", "shop/q\udcff.py", "ls -N shop | iconv -f utf-8 -t utf-8"),
    _mistaken("with markup", "shop/e[b]f.py", "for one in $(ls -N shop | grep e); do ls -d shop/$one/; done"),
    _mistaken("as long as can be", f"shop/{'n' * 252}.py", "cp shop/n*.py $(echo shop/n*.py).txt"),
]

# -- what keeps a reader for ever


def _pipe(path: str) -> Trap:
    return Trap(f"a pipe as {path}", ("cat", path), "hangs", plant=_made(path, os.mkfifo))


def _endless(path: str) -> Trap:
    return Trap(f"no end of {path}", ("cat", path), "hangs", plant=_link(path, "/dev/zero"))


HANGING = [
    *map(_pipe, (".aiignore", ".gitignore", "AGENTS.md", "pyproject.toml", "shop/zz.py", "package.json", ".git")),
    *map(_endless, (".aiignore", ".python-version", "pytest.ini", ".rolecall/roles/engineer.toml", "tests/test_z.py")),
]

# -- what is too much for a reader

_LARGE_BYTES = 3 * 2**30
_READS = "import resource; resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30)); open({!r}, 'rb').read()"
_DEEP = 100_000
_RULES = "a*" * 14 + "b\n" + "**/" * 40 + "x\n" + "[a-" * 50 + "\n"


def _sparse(path: str) -> Trap:
    def make(place: Path) -> None:
        place.touch()
        os.truncate(place, _LARGE_BYTES)

    return Trap(f"3 GB of {path}", (OURS, "-c", _READS.format(path)), "fails", plant=_made(path, make))


def _too_much(name: str, path: str, text: str, careless: str) -> Trap:
    """A file that a careless function cannot read."""
    code = f"import ast, json, tomllib; {careless}(open({path!r}).read())"
    return Trap(name, (OURS, "-c", code), "fails", files={path: text})


def _long_line(path: str, before: str = "") -> Trap:
    """A file with one line as long as a file that is read may be."""
    code = f"import csv; list(csv.reader(open({path!r})))"
    line = f"# {'a' * (MAX_FILE_BYTES - len(before) - 10)}\n"
    return Trap(f"one huge line in {path}", (OURS, "-c", code), "fails", files={path: before + line})


def _odd(name: str, careless: str, plant: Callable[[Path], None], files: Mapping[str, str] | None = None) -> Trap:
    return Trap(name, ("sh", "-c", careless), "fails", plant=plant, files=files or {})


def _socket(place: Path) -> None:
    here = Path.cwd()
    os.chdir(place.parent)  # the name of a socket has a hundred bytes
    try:
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(place.name)
    finally:
        os.chdir(here)


def _deep(root: Path) -> None:
    here = os.open(root, os.O_RDONLY)
    for _ in range(900):
        os.mkdir("dir", dir_fd=here)
        inner = os.open("dir", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    handle = os.open("x.py", os.O_WRONLY | os.O_CREAT, dir_fd=here)
    os.write(handle, b"a = 1\n")
    os.close(handle)
    os.close(here)


def _many(root: Path) -> None:
    for folder in range(100):
        place = root / "many" / str(folder)
        place.mkdir(parents=True)
        for number in range(1_000):
            (place / f"f{number}.py").touch()


_ROLES = {
    ".rolecall/roles/engineer.toml": 'goal = "x"\ntools = ["run_shell"]\n',
    ".rolecall/roles/evil.toml": 'title = "E"\n',
    ".rolecall/rules.md": "[red]x[/nothing]\n",
    ".rolecall/rules/engineer.md": "\x1b[2J",
}
FAILING = [
    *map(_sparse, ("shop/big.py", ".aiignore", "pyproject.toml", "package.json", ".rolecall/roles/engineer.toml")),
    _too_much("brackets", "shop/nest.py", "(" * _DEEP, "ast.parse"),
    _too_much("signs", "shop/nest.py", "x = " + "-" * _DEEP + "1\n", "ast.parse"),
    _too_much("a sum", "shop/nest.py", "x = " + "+".join(["1"] * _DEEP) + "\n", "ast.parse"),
    _too_much("calls", "tests/test_nest.py", "f" + "(f" * 20_000 + ")" * 20_000 + "\n", "ast.parse"),
    _too_much("lists in package.json", "package.json", "[" * _DEEP, "json.loads"),
    _too_much("lists in pyproject.toml", "pyproject.toml", "a = " + "[" * _DEEP, "tomllib.loads"),
    _too_much("a long number", "pyproject.toml", f"a = {'9' * 5_000}\n", "tomllib.loads"),
    _too_much(
        "settings without tables",
        "pyproject.toml",
        "tool = 3\nproject = []\n",
        "(lambda text: tomllib.loads(text)['tool']['ruff'])",
    ),
    _too_much("lists in a role", ".rolecall/roles/engineer.toml", "goal = " + "[" * 50_000, "tomllib.loads"),
    _long_line("shop/price.py", FILES["shop/price.py"]),
    _long_line("tests/test_price.py", FILES["tests/test_price.py"]),
    _long_line("AGENTS.md"),
    _too_much("a binary file", "shop/binary.py", "x = 1\0" * 1_000, "ast.parse"),
    _odd("a link to itself", "cat .aiignore", _link(".aiignore", ".aiignore")),
    _odd("a folder that holds itself", f"cat {'up/' * 60}pyproject.toml", _link("up", ".")),
    _odd("the folder of the system", "test ! -e root/etc/passwd", _link("root", "/")),
    _odd("a socket", "cat shop/zz.py", _made("shop/zz.py", _socket)),
    _odd("folders as deep as can be", f'cat "$PWD/{"dir/" * 900}x.py"/{"x" * 3_000}', _deep),
    _odd(
        "rules that take for ever",
        "! grep -qF '[a-[a-' .gitignore",
        lambda root: None,
        dict.fromkeys((".gitignore", ".aiignore"), _RULES) | {f"shop/{'a' * 240}.py": ""},
    ),
    _odd("a hundred thousand files", "cat many/*/*.py /dev/null", _many),
    _odd("roles that want more", "! grep -q run_shell .rolecall/roles/engineer.toml", lambda root: None, _ROLES),
]
