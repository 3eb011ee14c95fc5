"""Measure the covering of secrets: which planted ones are found, and which lines are covered in ordinary source.

    python benchmarks/studies/context/covering.py planted DETECT_SECRETS.git GITLEAKS.git [--missed]
    python benchmarks/studies/context/covering.py source FOLDER...

The first reads the fixtures of two scanners where they stand: the parameters of detect-secrets' tests, and the true
positives of gitleaks' rules, of which those that are made from an expression are made anew here (with a fixed seed).
The rules are told in two halves, by whether the digest of their file's name is even, so that who changes the patterns
may look at one half and keep the other for the proof. The second prints what is covered below the folders, for somebody
to judge, and the sum.
``--with-library`` measures detect-secrets itself in place of ours, where it is installed.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from types import GeneratorType
from typing import Any
from unittest.mock import MagicMock

from rolecall_server.context.secret_forms import find_secrets

Find = Callable[[str, str], list[tuple[int, int]]]
"""The places of the secrets in a text, which is a file of that name."""

_RULES = "cmd/generate/config/rules"
_CLASSES = {"AlphaNumeric": "[a-z0-9]", "AlphaNumericExtended": "[a-z0-9=_\\-]", "Numeric": "[0-9]", "Hex": "[a-f0-9]"}
_CLASSES |= {"AlphaNumericExtendedShort": "[a-z0-9_-]", "AlphaNumericExtendedLong": "[a-z0-9\\/=_\\+\\-]"}
_TOKEN = re.compile(
    r'\s*(?://[^\n]*\n\s*)*(?:(`[^`]*`|"(?:\\.|[^"\\])*")|([A-Za-z_][\w.]*)|(\[\]string|\.\.\.|.))', re.S
)
_MOST_REPEATS = 12
_DUMMY = re.compile(r"(.)\1{5}|\{secret\}|(?:\d{1,3}\.){3}\d|[xX]{4}")
"""Fixtures that hold nothing that could be a secret: a run of one character, a name to be filled in, an address."""


@dataclass(frozen=True)
class Planted:
    """A text with a secret in it."""

    group: str
    text: str
    secret: str = ""
    """The text that must not be seen; empty where the fixture does not say: then anything that is covered will do."""


def show(repository: Path, path: str) -> str:
    """Return the text of *path* in a bare repository."""
    return subprocess.run(
        ["git", "--git-dir", str(repository), "show", f"HEAD:{path}"], check=True, capture_output=True, text=True
    ).stdout


def paths_in(repository: Path, folder: str) -> list[str]:
    """Return the files below *folder*."""
    command = ["git", "--git-dir", str(repository), "ls-tree", "-r", "--name-only", "HEAD", folder]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()


def from_detect_secrets(repository: Path) -> Iterator[Planted]:
    """Yield what the tests of its plug-ins say is to be found."""
    for path in paths_in(repository, "tests/plugins"):
        name = Path(path).stem.removesuffix("_test")
        if path.endswith("_test.py"):
            for text, secret in dict.fromkeys(_positives(show(repository, path))):
                kind = "dummies" if _DUMMY.search(text) else "keyword" if name == "keyword" else "forms"
                yield Planted(f"detect-secrets {kind}", text, secret)


def _positives(source: str) -> Iterator[tuple[str, str]]:
    """Yield the parameters that a test wants found, each with the secret in it where the test says which."""
    tree = compile(source, "fixtures", "exec", ast.PyCF_ONLY_AST)
    names: dict[str, Any] = {"__name__": "fixtures"}
    body = [node for node in tree.body if not isinstance(node, ast.ClassDef)]
    exec(compile(ast.Module(body, []), "fixtures", "exec"), {"__builtins__": _builtins()}, names)
    scope = {**names, "__builtins__": _builtins()}
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef):
            continue
        finds_one = "== 1" in ast.unparse(node)
        for decorator in node.decorator_list:
            if isinstance(decorator, ast.Call) and ast.unparse(decorator.func).endswith("parametrize"):
                try:
                    values = eval(compile(ast.Expression(decorator.args[1]), "fixtures", "eval"), scope)
                except Exception:  # noqa: BLE001 - what cannot be made without its library is left out
                    continue
                yield from _wanted(values, finds_one=finds_one)


def _builtins() -> dict[str, Any]:
    import builtins

    def take(name: str, *others: Any) -> Any:
        return __import__(name, *others) if name.partition(".")[0] in sys.stdlib_module_names else MagicMock()

    return {**vars(builtins), "__import__": take}


def _wanted(values: Any, *, finds_one: bool) -> Iterator[tuple[str, str]]:
    for value in values if isinstance(values, list | tuple | GeneratorType) else ():
        parts = value if isinstance(value, tuple) else (value,)
        parts = parts[1:] if len(parts) == 3 and isinstance(parts[2], str) else parts
        if not isinstance(parts[0], str):
            continue
        verdict = parts[-1] if len(parts) > 1 else finds_one
        if isinstance(verdict, str) and verdict and verdict in parts[0] and len(parts) == 2:
            yield parts[0], verdict
        elif verdict is True:
            yield parts[0], ""


def from_gitleaks(repository: Path) -> Iterator[Planted]:
    """Yield the true positives of its rules, as far as they can be made without Go."""
    samples = re.findall(
        r'^\t\t"[^"]*":\s+("(?:\\.|[^"\\])*"|`[^`]*`),', show(repository, "cmd/generate/config/utils/generate.go"), re.M
    )
    forms = [_literal(sample) for sample in samples]
    for path in paths_in(repository, _RULES):
        if path.endswith(".go") and not path.endswith("_test.go"):
            half = "even" if hashlib.sha256(path.encode()).digest()[0] % 2 == 0 else "odd"
            source = show(repository, path)
            seed = random.Random(path)
            for body in source.split("\nfunc ")[1:]:
                for text, secret in _true_positives(body, forms, seed):
                    yield Planted(f"gitleaks {half}", text, secret)


def _true_positives(body: str, forms: Sequence[str], chance: random.Random) -> Iterator[tuple[str, str]]:
    for begin in re.finditer(r"\btps\s*:?=\s*", body):
        try:
            value = _Go(body, begin.end(), forms, chance).expression()
        except (ValueError, IndexError, KeyError, TypeError, re.error):
            continue
        yield from (one if isinstance(one, tuple) else (one, "") for one in (value if isinstance(value, list) else ()))


def _literal(word: str) -> str:
    return word[1:-1] if word[0] == "`" else ast.literal_eval(word)


class _Go:
    """As much of Go as the lists of true positives are written in: texts, sums, calls, lists."""

    def __init__(self, text: str, place: int, forms: Sequence[str], chance: random.Random) -> None:
        self.text, self.place, self.forms, self.chance = text, place, forms, chance

    def peek(self) -> str:
        match = _TOKEN.match(self.text, self.place)
        return match[1] or match[2] or match[3] if match else ""

    def take(self) -> str:
        match = _TOKEN.match(self.text, self.place)
        if match is None:
            raise ValueError("the text has ended")
        self.place = match.end()
        return match[1] or match[2] or match[3]

    def expression(self) -> Any:
        value = self.operand()
        while self.peek() == "+":
            self.take()
            value += self.operand()
        return value

    def operand(self) -> Any:
        word = self.take()
        if word[0] in '`"':
            return _literal(word)
        if word == "[]string":
            return self.items("{", "}")
        if word == "tps":
            return []
        if word == "nil":
            return []
        if self.peek() == "(":
            return self.call(word.rpartition(".")[2], self.items("(", ")"))
        raise ValueError(word)

    def items(self, opening: str, closing: str) -> list[Any]:
        if self.take() != opening:
            raise ValueError(opening)
        found: list[Any] = []
        while self.peek() != closing:
            if self.peek() == ",":
                self.take()
                continue
            value = self.expression()
            if self.peek() == ".":
                while self.peek() == ".":
                    self.take()
                found += value
            else:
                found.append(value)
        self.take()
        return found

    def call(self, name: str, given: list[Any]) -> Any:
        if name in ("NewSecret", "newPlausibleSecret"):
            return made_from(given[0], self.chance)
        if name in _CLASSES:
            return f"{_CLASSES[name]}{{{given[0]}}}"
        if name == "Hex8_4_4_4_12":
            return "[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{12}"
        if name == "GenerateSampleSecret":
            return f'{given[0]}_api_token = "{given[1]}"'
        if name == "GenerateSampleSecrets":
            return [(_filled(form, *given), given[1]) for form in self.forms]
        if name == "append":
            return [*given[0], *given[1:]]
        if name == "Sprintf":
            return re.sub(r"%[sdv]", "{}", given[0].replace("{", "{{").replace("}", "}}")).format(*given[1:])
        if name == "ToUpper":
            return given[0].upper()
        if name == "ToLower":
            return given[0].lower()
        if name == "Repeat":
            return given[0] * int(given[1])
        raise ValueError(name)


def _filled(form: str, identifier: str, secret: str) -> str:
    return form.replace("{i}", identifier).replace("{I}", identifier.upper()).replace("{s}", secret)


def made_from(expression: str, chance: random.Random) -> str:
    """Return a text that *expression* matches, by chance."""
    import re._parser as parser  # type: ignore[import-not-found]

    plain = re.sub(r"\[\[:alnum:\]\]", "[a-zA-Z0-9]", expression).replace("[:alnum:]", "a-zA-Z0-9")
    plain = re.sub(r"\(\?-?[is]:", "(?:", plain)
    return _made(parser.parse(re.sub(r"^\(\?i\)|\\z", "", plain)), chance)


def _made(tree: Any, chance: random.Random) -> str:
    return "".join(_part(str(kind), value, chance) for kind, value in tree)


def _part(kind: str, value: Any, chance: random.Random) -> str:
    match kind:
        case "LITERAL":
            return chr(value)
        case "IN":
            return chance.choice(_characters(value))
        case "ANY":
            return chance.choice("abcXYZ123")
        case "MAX_REPEAT" | "MIN_REPEAT":
            least, most, inner = value
            times = chance.randint(least, max(least, min(int(most), least + _MOST_REPEATS)))
            return "".join(_made(inner, chance) for _ in range(times))
        case "SUBPATTERN":
            return _made(value[3], chance)
        case "BRANCH":
            return _made(chance.choice(value[1]), chance)
        case "AT":
            return ""
        case _:
            raise ValueError(kind)


def _characters(values: Any) -> str:
    found = ""
    for kind, value in values:
        match str(kind):
            case "LITERAL":
                found += chr(value)
            case "RANGE":
                found += "".join(map(chr, range(value[0], value[1] + 1)))
            case "CATEGORY":
                every = {"DIGIT": "0123456789", "WORD": "abcdefghijKLMNOPQRST0123456789_", "SPACE": " "}
                found += every[str(value).removeprefix("CATEGORY_")]
            case _:
                raise ValueError(kind)
    return found


def by_us(text: str, name: str) -> list[tuple[int, int]]:
    """Return the places of what we cover."""
    return [(one.start, one.end) for one in find_secrets(text)]


def by_library(text: str, name: str) -> list[tuple[int, int]]:
    """Return the places of what detect-secrets finds with its usual settings."""
    from detect_secrets.core.scan import scan_file  # type: ignore[import-not-found]

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"text{Path(name).suffix}"
        file.write_text(text, "utf-8", newline="")
        found = [(one.line_number, one.secret_value or "") for one in scan_file(str(file))]
    lines = text.splitlines(keepends=True)
    begins = list(accumulate(map(len, lines), initial=0))
    spans: list[tuple[int, int]] = []
    for number, value in found:
        place = lines[number - 1].find(value) if 0 < number <= len(lines) else -1
        spans += [(begins[number - 1] + place, begins[number - 1] + place + len(value))] if place >= 0 else []
    return sorted(set(spans))


def measure_planted(find: Find, planted: Sequence[Planted], *, tells_missed: bool) -> None:
    """Print how many of *planted* are covered, by group."""
    n, covered = Counter(one.group for one in planted), Counter[str]()
    for one in planted:
        rest = _uncovered(one.text, find(one.text, "planted.txt"))
        is_covered = rest != one.text and not (one.secret and one.secret in rest)
        covered[one.group] += is_covered
        if tells_missed and not is_covered:
            print(f"missed\t{one.group}\t{one.text[:200]!r}")
    for group in sorted(n):
        print(f"{group}: {covered[group]:,} of {n[group]:,} covered ({covered[group] / n[group]:.1%})")
    print(f"together: {covered.total():,} of {n.total():,} ({covered.total() / n.total():.1%})")


def _uncovered(text: str, places: Sequence[tuple[int, int]]) -> str:
    rest, done = "", 0
    for start, end in sorted(places):
        rest += text[done:start] + "\0" if start >= done else ""
        done = max(done, end)
    return rest + text[done:]


def measure_source(find: Find, folders: Sequence[Path]) -> None:
    """Print what is covered below *folders*, with how many lines it has, and how many lines there are."""
    n_lines = n_covered = 0
    for path in sorted(path for folder in folders for path in folder.rglob("*") if path.is_file()):
        content = path.read_bytes()
        if b"\0" in content[:8000] or len(content) > 2_000_000:
            continue
        text = content.decode("utf-8", "replace")
        n_lines += text.count("\n") + 1
        lines = text.split("\n")
        for start, end in find(text, path.name):
            first, last = text.count("\n", 0, start), text.count("\n", 0, max(start, end - 1))
            n_covered += last - first + 1
            print(
                f"{path}:{first + 1}",
                last - first + 1,
                repr(text[start:end][:60]),
                lines[first].strip()[:160],
                sep="\t",
            )
    print(f"{n_covered:,} of {n_lines:,} lines covered ({n_covered / max(n_lines, 1) * 100_000:.2f} in 100,000)")


def main() -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(description="What is covered that is a secret, and what that is none.")
    parser.add_argument("what", choices=("planted", "source"))
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--missed", action="store_true", help="print what was not covered")
    parser.add_argument("--with-library", action="store_true", help="measure detect-secrets in place of ours")
    given = parser.parse_args()
    if not given.with_library:
        measure(given, by_us)
        return
    from detect_secrets.settings import default_settings  # type: ignore[import-not-found]

    with default_settings():
        measure(given, by_library)


def measure(given: argparse.Namespace, find: Find) -> None:
    """Print what *find* finds in what the command line names."""
    if given.what == "source":
        measure_source(find, given.paths)
        return
    detect_secrets, gitleaks = given.paths
    planted = [*from_detect_secrets(detect_secrets), *from_gitleaks(gitleaks)]
    measure_planted(find, planted, tells_missed=given.missed)


if __name__ == "__main__":
    main()
