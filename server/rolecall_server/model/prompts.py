"""Prompts: what is said to a model stands in the Markdown file beside the module that reads the reply."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

_NAME = re.compile(r"^<!-- ([a-z]++(?: [a-z]++)*+) -->$", re.MULTILINE)


def prompts_beside(module: str) -> Mapping[str, str]:
    """Return the prompts in the ``.md`` file beside the file *module*, by name.

    Each stands below its name, ``<!-- no block -->``; what a module fills in is in braces.
    """
    _, *parts = _NAME.split(Path(module).with_suffix(".md").read_text(encoding="utf-8"))
    return {name: text.strip() for name, text in zip(parts[::2], parts[1::2], strict=True)}
