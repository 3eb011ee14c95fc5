"""Edit blocks as a model writes them."""

from __future__ import annotations


def block(path: str, search: str, replace: str) -> str:
    """One block; *search* and *replace* are whole lines."""
    return f"FILE: {path}\n<<<<<<< SEARCH\n{search}=======\n{replace}>>>>>>> REPLACE\n"
