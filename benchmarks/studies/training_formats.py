"""Are exported files read by the libraries that train with them?

Each FORMAT=FILE, as `rolecall export FORMAT --to FILE` wrote it, is loaded by `datasets` as JSON lines and handed to
the functions with which TRL's trainers read such rows: they know conversations and render
them with a template. Run it with a Python that has both:

    python -m venv trainers
    trainers/bin/pip install datasets trl transformers torch
    trainers/bin/python benchmarks/studies/training_formats.py chat=chat.jsonl preference=pairs.jsonl
"""

from __future__ import annotations

import sys
import tempfile
from importlib import import_module
from importlib.metadata import version
from typing import Any

_TEMPLATE = "{% for m in messages %}<{{ m['role'] }}>{{ m['content'] }}</{{ m['role'] }}>{% endfor %}"
_COLUMNS = {
    "chat": {"messages"},
    "preference": {"prompt", "chosen", "rejected"},
    "trajectories": {"prompt", "completion", "label"},
    "repairs": {"prompt", "completion"},
}
"""The columns by which TRL knows the type of a data set."""


def tokenizer() -> Any:
    """Return a tokenizer of words that is made here, with a chat template."""
    tokenizers: Any = import_module("tokenizers")
    words = tokenizers.Tokenizer(import_module("tokenizers.models").WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    fast: Any = import_module("transformers").PreTrainedTokenizerFast
    made = fast(tokenizer_object=words, unk_token="[UNK]", eos_token="[UNK]", pad_token="[UNK]")
    made.chat_template = _TEMPLATE
    return made


def read_back(form: str, path: str, cache: str) -> str:
    """Return a line that says what came of the file at *path*."""
    trl: Any = import_module("trl.data_utils")
    rows: Any = import_module("datasets").load_dataset("json", data_files=path, split="train", cache_dir=cache)
    missing = _COLUMNS[form] - {*rows.column_names}
    assert not missing, f"{form}: {missing} are missing"
    known = rows.select_columns(sorted(_COLUMNS[form]))
    assert all(trl.is_conversational(row) for row in known), f"{form}: a row is no conversation"
    made = tokenizer()
    rendered = [trl.apply_chat_template(row, made) for row in known]
    assert all(isinstance(text, str | bool) for row in rendered for text in row.values())
    first = ", ".join(f"{name} {len(text):,}" for name, text in rendered[0].items() if isinstance(text, str))
    return f"{form}: {len(rows)} rows; the first rendered, in characters: {first}"


def main() -> None:
    """Read back each file that is named."""
    print(", ".join(f"{name} {version(name)}" for name in ("datasets", "trl", "transformers")))
    with tempfile.TemporaryDirectory() as cache:
        for argument in sys.argv[1:]:
            form, _, path = argument.partition("=")
            print(read_back(form, path, cache))


if __name__ == "__main__":
    main()
