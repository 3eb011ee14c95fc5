"""The doctor says what is there, which model answers and why, and what somebody must fix."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rolecall_server.model.endpoint import Endpoint
from rolecall_server.model.selection.local_servers import LocalModel, LocalService
from rolecall_server.settings import read_settings
from rolecall_server.team.checkup import Checked, CheckupSubject, check_everything, check_model, must_fix
from support.chat_server import ChatServer, fails, says
from support.stores import open_store
from support.workspaces import environment, write_workspace


async def nobody() -> tuple[LocalService, ...]:
    return ()


def around(root: Path, environ: dict[str, str], **settings: Any) -> CheckupSubject:
    found, problems = read_settings(settings, environ)
    assert not problems
    return CheckupSubject(root, found, environ, open_store(root.parent / "rolecall.db"), find_local=nobody)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_workspace(tmp_path / "work")


async def model_at(root: Path, base_url: str, name: str = "scripted-model", **settings: Any) -> Checked:
    named = {"model": {"baseUrl": base_url, "name": name, **settings}}
    return await check_model(around(root, {}, **named), ask=True)


async def test_an_endpoint_that_lists_the_model_is_fine_without_being_asked_anything_else(root: Path) -> None:
    with ChatServer("ok") as server:
        checked = await model_at(root, server.base_url)
        assert not server.asked
    assert (checked.state, checked.facts["model"]) == ("fine", "scripted-model")
    assert "because the setting rolecall.model.name names it" in checked.what


@pytest.mark.parametrize(
    ("models", "name", "tells"),
    [
        (["a", "b"], "c", "does not list c. It lists a, b."),
        (["a", "b"], "", "offers 2 models, and none is named"),
        ([], "", "lists none"),
    ],
)
async def test_a_model_that_is_not_there_must_be_fixed(root: Path, models: list[str], name: str, tells: str) -> None:
    with ChatServer("ok", models=models) as server:
        checked = await model_at(root, server.base_url, name)
    assert checked.state == "broken"
    assert tells in checked.what
    assert "ROLECALL_MODEL" in checked.next_step


async def test_the_only_model_on_offer_is_named(root: Path) -> None:
    with ChatServer("ok") as server:
        assert (await model_at(root, server.base_url, "")).facts["model"] == "scripted-model"


async def test_an_endpoint_that_is_not_there_must_be_fixed(root: Path) -> None:
    checked = await model_at(root, "http://127.0.0.1:1/v1")
    assert checked.state == "broken"
    assert "connection refused" in checked.what


async def test_no_model_at_all_limits_what_can_be_done(root: Path) -> None:
    checked = await check_model(around(root, {}), ask=True)
    assert checked.state == "limited"
    assert "Tests can be written without one" in checked.what
    assert "ROLECALL_BASE_URL" in checked.next_step


async def test_a_context_that_is_too_short_for_what_is_shown_is_told_with_what_would_fit(root: Path) -> None:
    small = LocalService("Ollama", Endpoint("http://127.0.0.1:1/v1"), (LocalModel("m", True, 4096),))

    async def find() -> tuple[LocalService, ...]:
        return (small,)

    checked = await check_model(CheckupSubject(root, read_settings({}, {})[0], {}, find_local=find), ask=False)
    assert checked.state == "limited"
    assert "nothing is configured, and Ollama runs on this machine. Its context has 4,096 tokens" in checked.what
    assert "rolecall.model.contextTokens to 2,096 or less" in checked.next_step


async def test_what_was_tried_once_is_known_from_then_on(root: Path) -> None:
    with ChatServer(says("The sea.", pause_s=0.02)) as server:
        given = around(root, {}, model={"baseUrl": server.base_url})
        tried = await check_model(given, ask=True, try_it=True)
        n_asked = len(server.asked)
        known = await check_model(given, ask=True)
        assert len(server.asked) == n_asked
    assert tried.facts["streaming"] is known.facts["streaming"] is True
    assert tried.facts["jsonSchema"] is known.facts["jsonSchema"] is False
    assert "It cannot: JSON schemas" in known.what


async def test_a_machine_that_has_everything_needs_nothing_fixed(root: Path) -> None:
    environ = environment(root.parent / "home")
    checked = await check_everything(around(root, environ))
    assert [each.name for each in checked] == ["rolecall", "model", "sandbox", "interpreter", "git"]
    assert not must_fix(checked), checked
    assert "pytest" in next(each for each in checked if each.name == "interpreter").facts["modules"]


async def test_an_interpreter_without_pytest_must_be_fixed(root: Path) -> None:
    bare = root.parent / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bare)], check=True)
    environ = {**environment(root.parent / "home"), "VIRTUAL_ENV": str(bare)}
    checked = {each.name: each for each in await check_everything(around(root, environ))}
    assert checked["interpreter"].state == "broken"
    assert "has no pytest" in checked["interpreter"].what


def doctor(root: Path, environ: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-I", "-m", "rolecall_server", "doctor", "--root", str(root), *arguments]
    return subprocess.run(command, env=environ, capture_output=True, text=True, check=False)


def test_the_command_ends_with_1_where_something_must_be_fixed_and_says_what(root: Path) -> None:
    environ = {**environment(root.parent / "home"), "PATH": os.environ["PATH"]}
    with ChatServer(fails(500), models=["a", "b"]) as server:
        broken = doctor(root, {**environ, "ROLECALL_BASE_URL": server.base_url, "ROLECALL_MODEL": "c"}, "--json")
        told = json.loads(broken.stdout)
        assert (broken.returncode, told["ok"]) == (1, False)
        assert [each["name"] for each in told["checked"] if each["state"] == "broken"] == ["model"]
        fine = doctor(root, {**environ, "ROLECALL_BASE_URL": server.base_url, "ROLECALL_MODEL": "a"})
    assert fine.returncode == 0, fine.stdout
    assert f"a at {server.base_url}, because ROLECALL_MODEL names it." in fine.stdout
    assert len(fine.stdout.splitlines()) <= 24, "one screen"


def test_a_wrong_setting_and_a_store_that_cannot_be_opened_are_told_beside_all_else(root: Path) -> None:
    environ = environment(root.parent / "home")
    (root.parent / "home" / "data").mkdir()
    (root.parent / "home" / "data" / "rolecall").write_text("in the way")
    ended = doctor(root, environ, "--json")
    told = {each["name"]: each["state"] for each in json.loads(ended.stdout)["checked"]}
    assert told["store"] == "broken"
    assert told["git"] in ("fine", "limited")
    assert ended.returncode == 1


def test_a_repository_that_another_user_owns_is_told_in_gits_own_words_with_the_cure(root: Path) -> None:
    subprocess.run(["git", "init", "--quiet", str(root)], check=True)
    other = root.parent / "programs" / "git"
    other.parent.mkdir()
    # Git itself takes every repository for another user's then.
    other.write_text(f'#!/bin/sh\nGIT_TEST_ASSUME_DIFFERENT_OWNER=1 exec {shutil.which("git")} "$@"\n')
    other.chmod(0o755)
    environ = environment(root.parent / "home")
    told = doctor(root, {**environ, "PATH": os.pathsep.join([str(other.parent), os.environ["PATH"]])}, "--json")
    git = next(each for each in json.loads(told.stdout)["checked"] if each["name"] == "git")
    assert "fatal: detected dubious ownership in repository" in git["what"]
    assert git["nextStep"] == f"If you trust it: `git config --global --add safe.directory {root}`."
    assert "does not track it" not in told.stdout
