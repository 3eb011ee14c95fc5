"""The text of a test file, from the cases of a study."""

from __future__ import annotations

import re
from collections.abc import Collection
from random import Random

from rolecall_server.craft.characterization.inputs.call_forms import snake_case
from rolecall_server.craft.characterization.inputs.domains import IMPORTS
from rolecall_server.craft.characterization.study import Study
from rolecall_server.craft.characterization.text.grouping import group
from rolecall_server.craft.characterization.text.house_style import HouseStyle
from rolecall_server.craft.characterization.text.origins import NO_ORIGINS, Origins
from rolecall_server.craft.characterization.text.placing import extended, names_of_tests, new_file
from rolecall_server.craft.characterization.text.rendering import render

BACKWARDS = -1

_ENCODING = re.compile(r"[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
"""Source: PEP 263."""


def write_test_file(
    found: Study,
    module: str,
    style: HouseStyle,
    *,
    base: str | None = None,
    without: Collection[str] = (),
    order: int = 0,
    origins: Origins = NO_ORIGINS,
) -> str | None:
    """Return the tests of *found* for *module*, added to *base* where that is a file; None where there are none.

    *origins* tell where names are imported from, and which mean the same. *without* are the names of tests to leave
    out. Other numbers than 0 give the tests in another *order*: `BACKWARDS`, or one that is drawn with that seed.

    Raises:
        SyntaxError: *base* is no Python.
    """
    taken = names_of_tests(base) if base is not None else set[str]()
    groups = group(found.cases, found.survey.names | found.borrowed.keys(), taken)
    groups = [one for one in groups if f"test_{one.name}" not in without]
    if not groups:
        return None
    if order == BACKWARDS:
        groups.reverse()
    elif order:
        Random(order).shuffle(groups)
    sources = _sources(found, module, origins)
    rendered = render(groups, sources, style, class_name=_class_name(module, taken))
    if base is None:
        return new_file(rendered, module, style)
    text = extended(base, rendered, module, style, origins)
    # Files are written in UTF-8, which is not what such a file says of itself.
    return text.encode("ascii", "backslashreplace").decode() if _is_of_another_encoding(base) else text


def _sources(found: Study, module: str, origins: Origins) -> dict[str, tuple[str, str]]:
    """Return where each name that tests may use is imported from: a module, and its name there; empty for a module."""
    imports = dict(found.borrowed) | {name: source for seen in found.cases.values() for name, source in seen.imports}
    others = {name: (source, name) if source else (name, "") for name, source in imports.items()}
    return {**others, **IMPORTS, **{name: origins.taken_from(module, name) for name in found.survey.names}}


def _is_of_another_encoding(text: str) -> bool:
    """Return whether a file whose characters are all ASCII says that it has another encoding than UTF-8."""
    said = [_ENCODING.match(line) for line in text.splitlines()[:2]]
    return text.isascii() and any(one is not None and one[1].lower() not in ("utf-8", "utf8") for one in said)


def _class_name(module: str, taken: Collection[str]) -> str:
    words = snake_case(module.rpartition(".")[2]).split("_")
    name = f"Test{''.join(word.capitalize() for word in words)}"
    return next(f"{name}{end}" for end in ("", "Behaviour", *map(str, range(2, 99))) if f"{name}{end}" not in taken)
