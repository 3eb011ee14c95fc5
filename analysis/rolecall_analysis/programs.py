"""Programs of the machine, and none that a repository brings along."""

from __future__ import annotations

import os
import shutil
from pathlib import Path


def find_program(name: str, root: Path) -> str | None:
    """The program *name* on the search path, in no place inside *root* and in none that is relative to a folder.

    A *name* with a folder in it is a place already, and stays what it is; ``None`` where nothing can be run there.
    """
    here = root.resolve()
    places = [Path(place) for place in os.get_exec_path()]
    outside = [str(place) for place in places if place.is_absolute() and not place.resolve().is_relative_to(here)]
    return shutil.which(name, path=os.pathsep.join(outside))
