"""Seals recorded conversations for publication: `seal_recording.py OUT IN...` keeps the replies, hides the rest.

The demo's recording is made so: run `rolecall demo` with a model and ROLECALL_RECORD=IN, once answering yes and once
no, because what is accepted first is part of what the model is shown next.
"""

from __future__ import annotations

import sys
from pathlib import Path

from rolecall_server.model.recording import read_recording, write_sealed

out, *recordings = map(Path, sys.argv[1:])
write_sealed([exchange for recording in recordings for exchange in read_recording(recording)], out)
