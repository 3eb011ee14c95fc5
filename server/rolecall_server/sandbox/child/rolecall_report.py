"""A pytest plugin, handed to the interpreter that runs the workspace's tests: it tells, line by line, what happens.

It reads ``request.json`` beside itself and writes ``report.jsonl`` there, flushed after each line, so that a crash
or a timeout keeps what was told before. It measures coverage, and sends imports that an editable installation
would lead to the workspace itself into the copy under test. The interpreter may be as old as Python 3.8.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import json
import os
import sys
from pathlib import Path

import pytest
