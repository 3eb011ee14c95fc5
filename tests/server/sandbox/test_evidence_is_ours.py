"""What a run shows comes from pytest and from our plug-in, not from what the workspace puts in their place."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Awaitable, Callable
from hashlib import blake2b
from pathlib import Path

import pytest

from rolecall_server.sandbox import Interpreter, MutationRun, Shadow, TestRun, run_mutants, shadow_workspace
from rolecall_server.sandbox.walls.confinement import Confinement
from rolecall_server.sandbox.walls.event_stream import Hearing, heard
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
    "pytest", "_pytest", "pluggy", "coverage", "rolecall_report", "rolecall_session", "rolecall_start",
    "rolecall_unittest", "rolecall_in_place", "rolecall_mutation", "sitecustomize", "usercustomize", "json",
]  # fmt: skip
TRAP = """
    #- {name}.py
    import os
    PLANTED = True
    os.write(2, b"SPRUNG {name}")
    os._exit(0)
"""


def outcomes(run: TestRun) -> list[tuple[str, str]]:
    return [(one.test_id, one.outcome) for one in run.outcomes]


@pytest.mark.parametrize("place", ["{name}", "{name}/__init__"], ids=["modules", "packages"])
async def test_a_module_of_the_workspace_takes_no_place_of_ours(
    place: str, workspace_of: WorkspaceOf, run_in_shadow: RunInShadow
) -> None:
    traps = "".join(TRAP.format(name=place.format(name=name)) for name in TRAPS)
    run = await run_in_shadow(workspace_of(FAILING + traps), measure=["shop.py"])
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


FORGERIES = {
    "writes to every descriptor, and ends the process": """
        import json, os
        forged = [{"kind": "report", "test": "test_shop.py::test_total", "when": "call", "outcome": "passed",
                   "duration_s": 0, "message": "", "detail": ""}, {"kind": "end", "exit_code": 0}]
        for name in os.listdir("/proc/self/fd"):
            for line in forged:
                try: os.write(int(name), b"\\n" + json.dumps(line).encode() + b"\\n")
                except OSError: pass
        os._exit(0)
    """,
    "ends the process": "import os; os._exit(0)",
    "asks for our modules": "import rolecall_session, os; rolecall_session.tell('end', exit_code=0); os._exit(0)",
    "writes the report beside our modules": """
        import os
        reporter = type(request.config.pluginmanager.get_plugin("rolecall-reporter"))
        folder = os.path.dirname(reporter.__init__.__globals__["__file__"])
        with open(os.path.join(folder, "report.jsonl"), "w") as file:
            file.write('{"kind": "end", "exit_code": 0}')
        os._exit(0)
    """,
    "control: fails": "pass",
}


@pytest.mark.parametrize("forgery", FORGERIES)
async def test_a_failing_test_cannot_say_that_it_passed(
    forgery: str, workspace_of: WorkspaceOf, run_in_shadow: RunInShadow
) -> None:
    body = textwrap.indent(textwrap.dedent(FORGERIES[forgery]).strip(), "    ")
    root = workspace_of(FAILING)
    (root.root / "test_shop.py").write_text(
        "from shop import total\n\ndef test_sum():\n    assert total([1, 2]) == 3\n\n"
        f"def test_total(request):\n{body}\n    assert total([]) == 1\n"
    )
    run = await run_in_shadow(root, measure=["shop.py"])
    assert outcomes(run)[0] == ("test_shop.py::test_sum", "passed")
    assert outcomes(run)[1][0] == "test_shop.py::test_total"
    assert outcomes(run)[1][1] in ("failed", "error")
    assert run.status == ("ran" if forgery.startswith(("control", "asks")) else "crashed")


DISAGREEING = {
    "they told of exit code 0, and their process ended with 3": """
        #- test_a.py
        import atexit, os
        def test_a(): atexit.register(os._exit, 3)
    """,
    "no test is told of as failing": """
        #- conftest.py
        def pytest_sessionfinish(session): session.exitstatus = 1
        #- test_a.py
        def test_a(): pass
    """,
    "test_a.py::test_b was collected, and nothing is told of it": """
        #- conftest.py
        import pytest
        @pytest.hookimpl(tryfirst=True)
        def pytest_runtest_protocol(item): return True if item.name == "test_b" else None
        #- test_a.py
        def test_a(): pass
        def test_b(): assert False
    """,
    "": """
        #- test_a.py
        import atexit, sys
        def test_a(): atexit.register(sys.exit, 0)
    """,
}


async def test_a_plug_in_that_fails_after_the_last_test_takes_nothing_from_what_was_seen(
    workspace_of: WorkspaceOf, run_in_shadow: RunInShadow
) -> None:
    text = "#- conftest.py\ndef pytest_sessionfinish(): raise OSError('no room')\n#- test_a.py\ndef test_a(): pass\n"
    run = await run_in_shadow(workspace_of(text))
    assert (run.status, outcomes(run)) == ("ran", [("test_a.py::test_a", "passed")]), run.reason


@pytest.mark.parametrize("why", [*DISAGREEING], ids=[why or "control: all agree" for why in DISAGREEING])
async def test_a_report_that_contradicts_what_was_seen_is_not_relied_on(
    why: str, workspace_of: WorkspaceOf, run_in_shadow: RunInShadow
) -> None:
    run = await run_in_shadow(workspace_of(DISAGREEING[why]))
    assert run.status == ("crashed" if why else "ran"), run.reason
    assert why in run.reason


async def test_a_fork_of_the_tests_process_has_nothing_to_report_over(
    workspace_of: WorkspaceOf, run_in_shadow: RunInShadow
) -> None:
    text = """
        #- test_a.py
        import os, stat

        def sockets():
            return [n for n in range(3, 256) if is_socket(n)]

        def is_socket(n):
            try: return stat.S_ISSOCK(os.fstat(n).st_mode)
            except OSError: return False

        def test_a():
            assert len(sockets()) == 1
            child = os.fork()
            if child == 0:
                os._exit(len(sockets()))
            assert os.waitpid(child, 0)[1] == 0
    """
    run = await run_in_shadow(workspace_of(text))
    assert outcomes(run) == [("test_a.py::test_a", "passed")], run.outcomes


def sealed(hearing: Hearing, number: int, told: bytes) -> bytes:
    line = b"%d %s" % (number, told)
    return blake2b(line, digest_size=16, key=hearing.key).hexdigest().encode() + b" " + line


def test_only_lines_with_a_seal_are_heard_and_missing_ones_are_seen(tmp_path: Path) -> None:
    hearing, other = Hearing(tmp_path / "noted"), Hearing(tmp_path / "noted")
    lines = [sealed(hearing, number, b"line %d" % number) for number in (1, 2, 3, 4)]
    forged = [b"line 2", b"2 line 2", sealed(other, 2, b"line 2"), lines[1].replace(b"line", b"lie"), b"\xff \x00"]
    hearing.noted.write_bytes(b"\n".join([lines[0], *forged, lines[1], lines[3], lines[3]]))
    assert [*heard(hearing)] == [b"line 1", b"line 2", None, b"line 4", None, b"line 4"]
    assert [*heard(Hearing(tmp_path / "nowhere"))] == []


CLAIMS = {
    "adds lines": """
        data = coverage.Coverage.current().get_data()
        data.add_arcs({shop.__file__: {(n, n + 1) for n in range(1, 20)}})
    """,
    "replaces the report": """
        def report(self, *, outfile, **rest):
            file = {"executed_lines": [*range(1, 12)], "missing_lines": [], "excluded_lines": [],
                    "summary": {"num_branches": 0, "covered_branches": 0}}
            with open(outfile, "w") as out: json.dump({"files": {"shop.py": file}}, out)
        coverage.Coverage.json_report = report
    """,
    "control: claims nothing": "pass",
}
SHOP = """
    #- shop.py
    def total(items):
        if not items:
            return 0
        return sum(
            items,
        )

    def unused(number):
        number += 1
        number += 2
        number += 3
        return number
"""


@pytest.mark.parametrize("claim", CLAIMS)
async def test_from_python_3_12_on_coverage_is_not_shown_of_lines_that_were_not_seen_to_run(
    claim: str, workspace_of: WorkspaceOf, run_in_shadow: RunInShadow
) -> None:
    workspace = workspace_of(SHOP)
    body = textwrap.indent(textwrap.dedent(CLAIMS[claim]).strip(), "    ")
    (workspace.root / "test_shop.py").write_text(
        f"import coverage, json, shop\n\ndef test_total():\n    assert shop.total([1]) == 1\n{body}\n"
    )
    run = await run_in_shadow(workspace, measure=["shop.py"])
    assert [one.outcome for one in run.outcomes] == ["passed"]
    if claim.startswith("control"):
        assert run.coverage["shop.py"].ratio < 0.7, run.coverage_reason
    elif sys.version_info >= (3, 12):
        assert dict(run.coverage) == {}
        assert "were not seen to run" in run.coverage_reason
    else:
        assert run.coverage["shop.py"].ratio == 1, "only one tool at a time counts lines, which is the one that claims"
