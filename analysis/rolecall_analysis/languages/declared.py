"""The type that a signature declares a parameter or a field to have, by the syntax of the language."""

from __future__ import annotations

import re
from functools import lru_cache

_AFTER_THE_NAME = r"\b{name}\??\s*:\s*&?\s*(?:'\w+\s+)?(?:mut\s+)?([A-Za-z_][\w.:]*)(?![\w.:]|\s*[\[|&])"
_AFTER_A_BLANK = r"\b{name}(?:,\s*\w+)*\s+\*?([A-Za-z_][\w.]*)(?![\w.])"
_BEFORE_THE_NAME = r"([A-Za-z_\\][\w.:\\]*)(?:<[^()]*>)?(?:\s*[*&]\s*|\s)(?:const\s+)?\$?{name}(?![\w(<\[.:])"
_PATTERNS = {
    "javascript": _AFTER_THE_NAME,
    "rust": _AFTER_THE_NAME,
    "go": _AFTER_A_BLANK,
    "java": _BEFORE_THE_NAME,
    "csharp": _BEFORE_THE_NAME,
    "c": _BEFORE_THE_NAME,
    "php": _BEFORE_THE_NAME,
}


def declared_type(signature: str, name: str, family: str) -> str:
    """The dotted name of the type that *signature* gives *name*; empty without one, or for a list of some type."""
    pattern = _PATTERNS.get(family)
    found = _compiled(pattern, name.lstrip("$")).search(signature) if pattern is not None else None
    return re.sub(r"::|\\", ".", found[1]).strip(".") if found is not None else ""


@lru_cache(maxsize=4096)
def _compiled(pattern: str, name: str) -> re.Pattern[str]:
    return re.compile(pattern.replace("{name}", re.escape(name)))
