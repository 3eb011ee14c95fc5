"""What the VS Code client says can be translated: each text has a name, and stands in a file of its own."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

CLIENT = Path(__file__).resolve().parents[3] / "client-vscode"
SHOWN = {"title", "label", "contents", "displayName", "userDescription", "markdownDescription", "fullName"}
"""The fields of the manifest that are shown wherever they stand."""
NAMES = {"Rolecall"}
"""What is the same in every language."""
FOR_MODELS = {Path("src", "assistant", "answers.ts"), Path("src", "assistant", "port.ts")}
"""What the editor's assistant reads, in the language that its tools are described in."""
NOT_SHOWN = {
    *("editor if any", "hunk revisable", "proposal open", "file open", "task open"),
    *("Home", "End", "Enter", "Backspace"),
    "Cancel",
    "# is missing",
    "import platform, sys; print(sys.executable); print(platform.python_version())",
}
"""Names of states and keys, what the server answers, and what a programmer reads: nobody is shown them."""


def shown(value: object, path: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    """Return each text of the manifest that a person sees, with where it stands; what a model reads is none."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key not in ("inputSchema", "scripts", "author"):
                yield from shown(inner, (*path, key))
    elif isinstance(value, list):
        for inner in value:
            yield from shown(inner, path)
    elif isinstance(value, str) and path:
        is_name_of_view = path[-1] == "name" and "views" in path
        if path[-1] in SHOWN or path[-1] == "description" or is_name_of_view:
            yield ".".join(path), value


def read(name: str) -> dict[str, object]:
    return json.loads((CLIENT / name).read_text(encoding="utf-8"))


def test_every_text_of_the_manifest_is_among_those_that_can_be_translated() -> None:
    texts = read("package.nls.json")
    literal = [(where, text) for where, text in shown(read("package.json")) if not re.fullmatch(r"%[\w.]+%", text)]
    assert {text for _, text in literal} <= NAMES, literal
    named = [text.strip("%") for _, text in shown(read("package.json")) if text not in NAMES]
    assert sorted(set(named)) == sorted(texts)


def test_the_file_of_the_texts_in_the_code_is_up_to_date() -> None:
    script = CLIENT.parent / "scripts" / "extract_client_texts.py"
    checked = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr


def literals(source: str) -> Iterator[str]:
    """Return the texts between quotes and backticks that are not translated: two words, or one that begins large.

    What a comment says, what is logged and what is imported is none.
    """
    code = re.sub(r"/\*.*?\*/|(?<![:\"'`])//[^\n]*", "", source, flags=re.DOTALL)
    code = re.sub(r"^import .*$|^\} from .*$|\blog\.\w+\(.*$", "", code, flags=re.MULTILINE)
    code = re.sub(r'\bt\(\s*"(?:[^"\\\n]|\\.)*"', "t(", code)
    for plain, template in re.findall(r'"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\\n]|\\.)*)`', code):
        text = plain or re.sub(r"\$\{[^{}]*\}", "", template)
        if re.search(r"[a-z]{2,} [a-z]{2,}", text, re.IGNORECASE) or re.fullmatch(r"[A-Z][a-z]+…?", text):
            yield text


def test_no_text_that_a_person_sees_is_left_out_of_those_that_can_be_translated() -> None:
    left = {
        text
        for folder in ("src", "pages")
        for path in (CLIENT / folder).rglob("*.ts")
        if path.relative_to(CLIENT) not in FOR_MODELS
        for text in literals(path.read_text(encoding="utf-8"))
    }
    assert left == NOT_SHOWN | NAMES
