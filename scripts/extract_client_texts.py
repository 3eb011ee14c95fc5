"""Writes the texts in the code of the VS Code client into `client-vscode/l10n/bundle.l10n.json`.

From there they are translated. `--check` only compares.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
TEXT = re.compile(r'\bt\(\s*("(?:[^"\\\n]|\\.)*")')


def texts_of(client: Path) -> list[str]:
    """The texts that the code of *client* shows, each once, in the order of the alphabet."""
    sources = [path for folder in ("src", "pages") for path in sorted((client / folder).rglob("*.ts"))]
    # A text in double quotes is JSON too, with its escapes.
    found = {json.loads(text) for path in sources for text in TEXT.findall(path.read_text(encoding="utf-8"))}
    return sorted(found)


def main() -> int:
    """Writes the file, or with `--check` exits with 1 where it is out of date."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if the file is out of date")
    options = parser.parse_args()
    client = REPOSITORY / "client-vscode"
    bundle = client / "l10n" / "bundle.l10n.json"
    wanted = json.dumps({text: text for text in texts_of(client)}, indent=2, ensure_ascii=False) + "\n"
    if bundle.exists() and bundle.read_text(encoding="utf-8") == wanted:
        return 0
    name = bundle.relative_to(REPOSITORY)
    if options.check:
        print(f"{name} is out of date: run {Path(__file__).name}", file=sys.stderr)
        return 1
    bundle.parent.mkdir(exist_ok=True)
    bundle.write_text(wanted, encoding="utf-8", newline="\n")
    print(f"{name} written")
    return 0


if __name__ == "__main__":
    sys.exit(main())
