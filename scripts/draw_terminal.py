"""Draws what a terminal showed as a picture: `draw_terminal.py TITLE < SESSION > PICTURE.svg`.

The session is what a program wrote to a terminal, as `script` records it; progress that was erased again is left out.
"""

from __future__ import annotations

import io
import re
import sys

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

WIDTH = 112
# Up to the last line that was erased: progress comes before all that stays.
ERASED = re.compile(r".*\x1b\[2K", re.DOTALL)
FONT_FROM_A_NETWORK = re.compile(r"@font-face \{.*?\}", re.DOTALL)


def picture_of(session: str, title: str) -> str:
    """The terminal as SVG, in fonts that the reader has."""
    shown = ERASED.sub("", session).strip("\r\n").replace("\r\n", "\n")
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
    console.print(Text.from_ansi(shown), soft_wrap=True)
    return FONT_FROM_A_NETWORK.sub("", console.export_svg(title=title, theme=MONOKAI))


if __name__ == "__main__":
    sys.stdout.write(picture_of(sys.stdin.read(), sys.argv[1]))
