"""The VS Code client names what the server understands: the same commands, the same messages."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest

from rolecall_server.lsp.registration import COMMANDS

REPOSITORY = Path(__file__).resolve().parents[3]
CLIENT = REPOSITORY / "client-vscode"
CLIENT_ONLY = {
    *("rolecall.server.restart", "rolecall.logs.show", "rolecall.menu.show", "rolecall.model.choose"),
    *("rolecall.brief.write", "rolecall.brief.run", "rolecall.question.answer"),
    *("rolecall.graph.calls", "rolecall.graph.impact", "rolecall.graph.modules"),
    "rolecall.tests.generateFolder",
}


def manifest() -> dict[str, object]:
    return json.loads((CLIENT / "package.json").read_text(encoding="utf-8"))


def quoted(path: Path, pattern: str) -> list[str]:
    """What *pattern* matches between double quotes or backticks in *path*."""
    return re.findall(rf"[\"`]({pattern})[\"`]", path.read_text(encoding="utf-8"))


def of_the_review() -> set[str]:
    """The commands of the view and the diffs, by their table in the client."""
    source = (CLIENT / "src" / "review" / "actions.ts").read_text(encoding="utf-8")
    table = source.partition("const made")[2].partition("};")[0]
    return {f"rolecall.review.{name}" for name in re.findall(r"^    (\w+)[:,]", table, re.MULTILINE)}


def of_the_runs() -> set[str]:
    """The commands of the view of the team at work, by their table in the client."""
    source = (CLIENT / "src" / "runs" / "index.ts").read_text(encoding="utf-8")
    table = source.partition("const made")[2].partition("};")[0]
    return {f"rolecall.runs.{name}" for name in re.findall(r"^    (\w+)[:,]", table, re.MULTILINE)}


def test_the_palette_offers_the_commands_of_the_server_and_those_of_the_client() -> None:
    contributes = manifest()["contributes"]
    assert isinstance(contributes, dict)
    offered = [entry["command"] for entry in contributes["commands"]]
    assert sorted(offered) == sorted(COMMANDS.keys() | CLIENT_ONLY | of_the_review() | of_the_runs())


@pytest.mark.parametrize("verb", ["accept", "reject"])
def test_who_types_the_name_of_a_decision_on_one_hunk_is_offered_none_on_many(verb: str) -> None:
    contributes = manifest()["contributes"]
    assert isinstance(contributes, dict)
    texts = json.loads((CLIENT / "package.nls.json").read_text(encoding="utf-8"))
    titles = {
        entry["command"]: f"{entry['category']}: {texts[entry['title'].strip('%')]}".casefold()
        for entry in contributes["commands"]
    }
    typed = titles[f"rolecall.hunk.{verb}"]
    many = [titles[f"rolecall.{what}.{verb}"] for what in ("file", "proposal", "all")]
    assert [title for title in many if _is_found(typed, title)] == []


def _is_found(typed: str, title: str) -> bool:
    """Return whether a palette finds *title* by letters typed in that order."""
    letters = iter(title)
    return all(letter in letters for letter in typed)


def test_the_client_forwards_every_command_of_the_server_and_no_other() -> None:
    assert sorted(quoted(CLIENT / "src" / "protocol.ts", r"rolecall(?:\.\w+)+")) == sorted(COMMANDS)


def test_the_client_knows_the_messages_of_the_protocol_page_and_no_other() -> None:
    known = quoted(CLIENT / "src" / "protocol.ts", r"rolecall/[\w/]+")
    assert sorted(known) == sorted(set(quoted(REPOSITORY / "docs" / "protocol.md", r"rolecall/[\w/]+")))


def test_the_extension_has_the_version_of_the_package() -> None:
    package = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    assert manifest()["version"] == package["project"]["version"]
