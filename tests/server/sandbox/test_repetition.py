"""Tests that end the same each time, and those that do not."""

from __future__ import annotations

from collections.abc import Callable

from rolecall_server.sandbox import Confinement, Interpreter, Repetition, Shadow, run_repeatedly, shadow_workspace
from rolecall_server.workspace import Workspace
from support.patience import PATIENCE_S

WorkspaceOf = Callable[..., Workspace]


async def repeated(
    workspace: Workspace, python: Interpreter, confinement: Confinement, times: int = 4, timeout_s: float = PATIENCE_S
) -> Repetition:
    async with shadow_workspace(workspace, confinement) as shadow:
        assert isinstance(shadow, Shadow)
        return await run_repeatedly(shadow, python, times=times, timeout_s=timeout_s)


async def test_flaky_tests_are_told_from_stable_ones(
    workspace_of: WorkspaceOf, python: Interpreter, confinement: Confinement
) -> None:
    workspace = workspace_of("""
        #- test_a.py
        state = []
        def test_passes(): pass
        def test_fails(): assert 0
        def test_first(): state.append(1)
        def test_leans_on_the_first(): assert state
        def test_leans_on_hashes(): assert list({"a", "b", "c", "d", "e", "f"})[0] in "abc"
    """)
    found = await repeated(workspace, python, confinement, times=8)
    assert found.is_complete
    assert set(found.flaky) == {"test_a.py::test_leans_on_the_first", "test_a.py::test_leans_on_hashes"}
    assert set(found.stable) == {"test_a.py::test_passes", "test_a.py::test_first", "test_a.py::test_fails"}


async def test_each_run_has_an_order_of_its_own_that_keeps_files_and_classes_together(
    workspace_of: WorkspaceOf, python: Interpreter, confinement: Confinement
) -> None:
    tests = (
        "class TestX:\n    def test_a(self): pass\n    def test_b(self): pass\ndef test_c(): pass\ndef test_d(): pass\n"
    )
    found = await repeated(workspace_of(f"#- test_one.py\n{tests}#- test_two.py\n{tests}"), python, confinement)
    orders = [[outcome.test_id for outcome in run.outcomes] for run in found.runs]
    assert len({tuple(order) for order in orders}) > 1
    for order in orders:
        files = [test.partition("::")[0] for test in order]
        assert files in (sorted(files), sorted(files, reverse=True))
        assert len(order) == 8


async def test_a_run_that_does_not_end_ends_the_repetition_and_says_why(
    workspace_of: WorkspaceOf, python: Interpreter, confinement: Confinement
) -> None:
    workspace = workspace_of("#- test_a.py\nimport time\ndef test_a(): time.sleep(600)\n")
    found = await repeated(workspace, python, confinement, timeout_s=2)
    assert (found.is_complete, len(found.runs)) == (False, 1)
    assert "did not end within 2 s" in found.reason
