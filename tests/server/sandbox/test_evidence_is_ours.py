"""What a run shows comes from pytest and from our plug-in, not from what the workspace puts in their place."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from rolecall_server.sandbox import Interpreter, MutationRun, Shadow, TestRun, run_mutants, shadow_workspace
from rolecall_server.sandbox.confinement import Confinement
from rolecall_server.workspace import Workspace
from support.patience import PATIENCE_S

WorkspaceOf = Callable[..., Workspace]
RunInShadow = Callable[..., Awaitable[TestRun]]

FAILING = """
    #- shop.py
    def total(items):
        if not items:
            return 0
        return sum(items)
    #- test_shop.py
    from shop import total

    def test_total():
        assert total([]) == 1

    def test_sum():
        assert total([1, 2]) == 3
"""
TRAPS = [
    "pytest", "_pytest/__init__", "pluggy", "coverage", "coverage/__init__", "rolecall_report", "rolecall_session",
    "rolecall_start", "rolecall_unittest", "rolecall_mutation", "sitecustomize", "usercustomize", "json",
]  # fmt: skip
TRAP = """
    #- {name}.py
    import os
    PLANTED = True
    os.write(2, b"SPRUNG")
    os._exit(0)
"""


def outcomes(run: TestRun) -> list[tuple[str, str]]:
    return [(one.test_id, one.outcome) for one in run.outcomes]


@pytest.mark.parametrize("name", TRAPS)
async def test_a_module_of_the_workspace_takes_no_place_of_ours(
    name: str, workspace_of: WorkspaceOf, run_in_shadow: RunInShadow
) -> None:
    run = await run_in_shadow(workspace_of(FAILING + TRAP.format(name=name)), measure=["shop.py"])
    assert "SPRUNG" not in run.output
    assert (run.status, outcomes(run)) == (
        "ran",
        [("test_shop.py::test_total", "failed"), ("test_shop.py::test_sum", "passed")],
    )
    assert run.coverage["shop.py"].ratio == 1


async def test_control_a_test_that_imports_such_a_module_gets_it(
    workspace_of: WorkspaceOf, run_in_shadow: RunInShadow
) -> None:
    importing = "#- test_more.py\ndef test_import():\n    import rolecall_report\n"
    run = await run_in_shadow(workspace_of(importing + "#- rolecall_report.py\n"))
    assert [one.outcome for one in run.outcomes] == ["passed"], run.outcomes
    sprung = await run_in_shadow(workspace_of(importing + TRAP.format(name="rolecall_report").replace("\n    ", "\n")))
    assert (sprung.status, [one.outcome for one in sprung.outcomes]) == ("crashed", ["error"])


async def test_a_repository_of_one_of_pytests_libraries_is_tested_itself(
    workspace_of: WorkspaceOf, run_in_shadow: RunInShadow
) -> None:
    text = """
        #- src/iniconfig/__init__.py
        WHERE = "the workspace"
        #- tests/test_it.py
        def test_it():
            import iniconfig
            assert iniconfig.WHERE == "the workspace"
    """
    assert [one.outcome for one in (await run_in_shadow(workspace_of(text))).outcomes] == ["passed"]


async def test_what_tries_mutants_is_ours_too(
    workspace_of: WorkspaceOf, python: Interpreter, confinement: Confinement
) -> None:
    traps = "".join(TRAP.format(name=name) for name in ("rolecall_mutation", "rolecall_report", "pytest"))
    text = FAILING.replace("total([]) == 1", "total([]) == 0")
    async with shadow_workspace(workspace_of(text + traps), confinement) as shadow:
        assert isinstance(shadow, Shadow)
        run = await run_mutants(shadow, python, "shop.py", range(1, 9), ["test_shop.py"], timeout_s=PATIENCE_S)
    assert isinstance(run, MutationRun)
    assert run.killed
