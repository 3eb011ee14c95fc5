"""Writes the table of settings into the manifest of `client-vscode`, its `package.nls.json` and `docs/settings.md`.

`--check` only compares.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path

from rolecall_server.settings import SettingRow, setting_rows

REPOSITORY = Path(__file__).resolve().parent.parent

INTRODUCTION = """\
# Settings

This page is written by `scripts/generate_client_settings.py` from the table in
`server/rolecall_server/settings/table.py`.

VS Code reads these from its settings. Any other editor sends them as `initializationOptions`, nested:
`{"model": {"name": "..."}, "tests": {"timeoutSeconds": 60}}`, or later by `workspace/didChangeConfiguration`
as `{"settings": {"rolecall": {...}}}`. A setting that is not given, or empty, is taken from its environment
variable where it has one. A wrong value is reported once and replaced by the default.

Scope `machine`: VS Code takes it from your user settings only, never from a workspace's own files.
"""


def client_property(row: SettingRow) -> dict[str, object]:
    """*row* as an entry of ``contributes.configuration.properties``."""
    return {
        **row.schema,
        "default": plain_default(row),
        "markdownDescription": f"%{description_key(row)}%",
        "scope": row.scope,
    }


def description_key(row: SettingRow) -> str:
    """The name of the description of *row* among the texts of the manifest, which can be translated."""
    return f"setting.{row.key}"


def plain_default(row: SettingRow) -> object:
    """The default as npm would write it when it rewrites the manifest: 600, not 600.0."""
    if isinstance(row.default, float) and row.default.is_integer():
        return int(row.default)
    return row.default


def with_variable(row: SettingRow) -> str:
    """The description, and the variable that stands in for the setting."""
    if not row.environment:
        return row.description
    return f"{row.description} Before that, the environment variable `{row.environment}` is asked."


def updated_manifest(manifest: str) -> str:
    """The text of `package.json` with the table in place of its properties."""
    content = json.loads(manifest)
    content["contributes"]["configuration"]["properties"] = {row.key: client_property(row) for row in setting_rows()}
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def updated_texts(texts: str) -> str:
    """The text of `package.nls.json` with the descriptions of the table in place of those it has."""
    others = {key: text for key, text in json.loads(texts).items() if not key.startswith("setting.")}
    content = {**others, **{description_key(row): with_variable(row) for row in setting_rows()}}
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def settings_page() -> str:
    """The text of `docs/settings.md`."""
    return "\n".join([INTRODUCTION, *(line for row in setting_rows() for line in section(row))])


def section(row: SettingRow) -> Iterator[str]:
    """The lines of the page that describe *row*."""
    facts = [value_type(row), f"default `{json.dumps(plain_default(row))}`", f"scope `{row.scope}`"]
    if row.environment:
        facts.append(f"environment variable `{row.environment}`")
    yield from (f"## `{row.key}`", "", row.description, "", "; ".join(facts) + ".", "")


def value_type(row: SettingRow) -> str:
    """What values *row* takes, in words."""
    if "enum" in row.schema:
        return "one of " + ", ".join(f"`{value}`" for value in row.schema["enum"])
    if "items" in row.schema:
        return f"list of {row.schema['items']['type']}s"
    bounds = {"minimum": "at least", "exclusiveMinimum": "more than", "maximum": "at most"}
    limits = [f"{words} {row.schema[key]:g}" for key, words in bounds.items() if key in row.schema]
    kind = row.schema["type"]
    return " ".join([kind if isinstance(kind, str) else " or ".join(kind), *limits])


def main() -> int:
    """Writes the files, or with `--check` exits with 1 and names those that differ from the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if a file is out of date")
    parser.add_argument("--root", type=Path, default=REPOSITORY, help="the repository to work on")
    options = parser.parse_args()
    manifest: Path = options.root / "client-vscode" / "package.json"
    page: Path = options.root / "docs" / "settings.md"
    texts = manifest.with_name("package.nls.json")
    wanted = {
        manifest: updated_manifest(manifest.read_text(encoding="utf-8")),
        texts: updated_texts(texts.read_text(encoding="utf-8")),
        page: settings_page(),
    }
    outdated = [path for path, text in wanted.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    for path in outdated:
        if options.check:
            print(f"{path.relative_to(options.root)} is out of date: run {Path(__file__).name}", file=sys.stderr)
        else:
            path.write_text(wanted[path], encoding="utf-8", newline="\n")
            print(f"{path.relative_to(options.root)} written")
    return 1 if options.check and outdated else 0


if __name__ == "__main__":
    sys.exit(main())
