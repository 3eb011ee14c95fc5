"""Seals recorded conversations for publication: `seal_recording.py OUT IN...` keeps the replies, hides the rest.

The demo's recording is made so: run `rolecall demo` with a model and ROLECALL_RECORD=IN, once answering yes and once
no, because what is accepted first is part of what the model is shown next.

With `--of FOLDER`, a library's files, what the replies quote of them is taken out as well; `support/quotes.py` puts it
back. The recordings of the team's runs are made so.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from rolecall_server.model.recordings.recording import read_recording, write_sealed

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from support.quotes import read_lines, without_quotes

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("out", type=Path)
parser.add_argument("recordings", type=Path, nargs="+")
parser.add_argument("--of", type=Path, help="the folder of the library that the replies may quote")
given = parser.parse_args()
exchanges = [exchange for recording in given.recordings for exchange in read_recording(recording)]
write_sealed(without_quotes(exchanges, read_lines(given.of)) if given.of else exchanges, given.out)
