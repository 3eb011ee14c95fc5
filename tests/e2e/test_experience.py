"""`rolecall experience` in a terminal: what runs of the command line kept of their attempts."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from support.chat_server import ChatServer, Turn, says
from support.edits import block
from support.workspaces import FILES, environment, write_workspace

ROLECALL = (sys.executable, "-I", "-m", "rolecall_server")
TEST = "tests/test_price.py::test_total_of_nothing"
BROKEN = {**FILES, "shop/price.py": FILES["shop/price.py"].replace("return sum(items)", "return sum(items) + 1")}
WRONG = block("shop/price.py", "    return sum(items) + 1\n", "    return sum(items) + 2\n")
FIX = block("shop/price.py", "    return sum(items) + 1\n", "    return sum(items)\n")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_workspace(tmp_path / "work", BROKEN)


def rolecall(root: Path, *arguments: str, base_url: str = "", use: str = "keep") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*ROLECALL, *arguments],
        cwd=root,
        env={**environment(root.parent / "home", base_url), "ROLECALL_EXPERIENCE": use},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def fixed(root: Path, *script: str | Turn, use: str = "keep") -> ChatServer:
    with ChatServer(list(script)) as chat:
        ended = rolecall(root, "fix", TEST, "--yes", base_url=chat.base_url, use=use)
    assert ended.returncode == 0, ended.stderr
    return chat


def test_what_a_fix_tried_is_listed_shown_and_forgotten(root: Path) -> None:
    wrong = f"Hypothesis: it adds too little.\n\n{WRONG}"
    chat = fixed(root, says(wrong, logprobs=(-0.5, -1.5)), f"Hypothesis: total adds one.\n\n{FIX}")
    assert all(asked["logprobs"] is True for asked in chat.asked)
    listed = rolecall(root, "experience").stdout
    assert f'Engineer: "Make {TEST} pass.": worked, accepted, 2 attempts' in " ".join(listed.split())
    (found,) = json.loads(rolecall(root, "experience", "--json").stdout)
    first, second = found["attempts"]
    assert (first["logprob"], first["passRate"], second["passRate"], second["builtOn"]) == (-1.0, 0.0, 1.0, 0)
    shown = rolecall(root, "experience", found["experience"]).stdout
    assert "attempt 1 (call 1, mean log-probability -1.00): did not work" in shown
    assert f"{TEST}: AssertionError: assert 2 == 0" in " ".join(shown.split())
    assert "it said: Hypothesis: it adds too little." in shown
    assert "Forgot 2 attempts." in rolecall(root, "experience", "--forget", "r1").stdout
    assert "Nothing is kept" in rolecall(root, "experience").stdout
    assert rolecall(root, "experience", "e1").returncode == 1


def test_a_second_fix_like_the_first_is_told_what_worked_as_was_foretold(root: Path) -> None:
    told_at_length = "".join(f"    # rule {n}: what is added here, and what is left out\n" for n in range(80))
    long = BROKEN["shop/price.py"].replace(
        "    return sum(items) + 1\n", f"{told_at_length}    return sum(items) + 1\n"
    )
    (root / "shop/price.py").write_text(long)  # a tenth of a request about it has room for it
    fixed(root, f"Hypothesis: total adds one.\n\n{FIX}")
    (root / "shop/price.py").write_text(long)
    foretold = rolecall(root, "experience", "--for", f"Make {TEST} pass.").stdout
    assert "+    return sum(items)\n" in foretold
    chat = fixed(root, FIX, use="replay")
    told = chat.asked[0]["messages"][1]["content"].partition("# What earlier work here showed")[2]
    assert f"Make {TEST} pass." in told
    assert "It worked, and the developer accepted it:" in told
    assert "+    return sum(items)\n" in told


def test_training_data_is_written_where_the_licence_allows_it_whole_and_over_no_other_file(root: Path) -> None:
    fixed(root, f"Hypothesis: it adds too little.\n\n{WRONG}", f"Hypothesis: total adds one.\n\n{FIX}")
    to = root.parent / "pairs.jsonl"
    refused = rolecall(root, "export", "preference", "--to", str(to))
    assert refused.returncode == 1
    assert '--set experience.licences="none"' in refused.stderr
    allowed = ("--set", "experience.licences=MIT, none")
    written = rolecall(root, "export", "preference", "--to", str(to), *allowed)
    assert f"Wrote 1 row to {to}." in " ".join(written.stdout.split())
    (line,) = to.read_text(encoding="utf-8").splitlines()
    row = json.loads(line)
    assert row["rejected"] == [{"role": "assistant", "content": f"Hypothesis: it adds too little.\n\n{WRONG}"}]
    assert "total adds one" in row["chosen"][0]["content"]
    to.write_text("mine")
    again = rolecall(root, "export", "preference", "--to", str(to), *allowed)
    assert (again.returncode, to.read_text()) == (1, "mine")
    assert "--yes" in again.stderr
    replaced = rolecall(root, "export", "chat", "--to", str(to), "--yes", "--json", *allowed)
    assert json.loads(replaced.stdout)["rows"] == 1
    assert [path.name for path in root.parent.iterdir() if path.name.startswith(".pairs")] == []


def test_nothing_is_kept_where_nobody_asked_for_it(root: Path) -> None:
    chat = fixed(root, FIX, use="")
    assert "logprobs" not in chat.asked[0]
    said = rolecall(root, "experience", use="").stdout
    assert "Nothing is kept of earlier attempts here." in said
    assert "`rolecall.experience.use` is off" in said
