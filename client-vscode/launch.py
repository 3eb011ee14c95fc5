"""Starts the language server from the libraries beside this file: ``python -I launch.py [ARGUMENT...]``.

An isolated Python ignores ``PYTHONPATH``, so the libraries are put on the path here, ahead of whatever the
interpreter has installed.
"""

import platform
import runpy
import sys
from pathlib import Path

LIBRARIES = Path(__file__).resolve().parent / "libs"


def explain_misfit() -> str:
    """Why this Python cannot run the libraries, in a line, or an empty string when it can."""
    try:
        # The two that hold compiled code; it fits some versions of Python, on one platform.
        import pydantic_core
        import tree_sitter
    except ImportError as error:
        return str(error)
    del pydantic_core, tree_sitter
    return ""


if __name__ == "__main__":
    sys.path.insert(0, str(LIBRARIES))
    if misfit := explain_misfit():
        sys.exit(
            f"The bundled server does not run on Python {platform.python_version()} "
            f"({sys.executable}, {platform.system()} {platform.machine()}): {misfit}. "
            f"Name another Python in the setting rolecall.server.interpreter, or install rolecall for this one "
            f"and set rolecall.server.importStrategy to fromEnvironment."
        )
    runpy.run_module("rolecall_server", run_name="__main__", alter_sys=True)
