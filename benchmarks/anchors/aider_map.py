"""aider's repository map of a folder, built with aider's own Python: CPU seconds of each build, peak memory, as JSON.

    ANCHORS/bin/python aider_map.py FOLDER BUILDS TOKENS

A build begins with a new map object; what earlier builds left in the folder's cache is used.
"""

from __future__ import annotations

import contextlib
import json
import resource
import sys
import time
from pathlib import Path

from aider.io import InputOutput
from aider.repomap import RepoMap


class CharacterCount:
    """Stands in for a model: the map only asks it how many tokens a text has."""

    def token_count(self, text: str) -> int:
        return len(text) // 4


def main() -> None:
    folder, builds, tokens = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    files = sorted(str(path) for path in folder.rglob("*.py"))
    cpu_s: list[float] = []
    with contextlib.redirect_stdout(sys.stderr):
        for _ in range(builds):
            start = time.process_time()
            quiet = InputOutput(yes=True, pretty=False)
            RepoMap(map_tokens=tokens, root=str(folder), main_model=CharacterCount(), io=quiet).get_repo_map([], files)
            cpu_s.append(time.process_time() - start)
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"cpu_s": cpu_s, "peak_mb": peak_mb}))


if __name__ == "__main__":
    main()
