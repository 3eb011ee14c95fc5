"""Where something of the repository's beside its tests is at fault, the parts that can run are run, and it is said."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from rolecall_server.sandbox import Confinement, Interpreter, Suite, TestRun
from rolecall_server.sandbox.walls.bubblewrap import Bubblewrap, usual_limits
from rolecall_server.workspace import Workspace
from support.patience import PATIENCE_S

WorkspaceOf = Callable[..., Workspace]
RunInShadow = Callable[..., Awaitable[TestRun]]

WEB = """
    #- pytest.ini
    [pytest]
    testpaths = tests
    #- tests/web/conftest.py
    import nonexistent.deeply
    #- tests/web/test_page.py
    def test_page(): pass
    #- tests/test_web/conftest.py
    raise RuntimeError("set HOST first")
    #- tests/test_web/test_host.py
    def test_host(): pass
    #- tests/test_price.py
    def test_price(): pass
"""


@pytest.fixture
def confinement() -> Confinement:
    """The walls that most have; what is at fault is the same behind each."""
    return Bubblewrap(Path("/usr/bin/bwrap"), overlays=True, limits=usual_limits())


def passed(run: TestRun) -> list[str]:
    return [outcome.test_id for outcome in run.passed]


@pytest.mark.parametrize(
    "asked",
    [
        {"suite": Suite(("tests/test_price.py", "tests/web/test_page.py"), rest_s=PATIENCE_S)},
        {"targets": ["tests/web/test_page.py", "tests/test_web/test_host.py", "tests/test_price.py"]},
    ],
    ids=["the whole suite", "by name"],
)
async def test_a_folder_whose_conftest_is_broken_is_left_out_and_the_rest_is_run(
    workspace_of: WorkspaceOf, run_in_shadow: RunInShadow, lean: Interpreter, asked: dict[str, object]
) -> None:
    run = await run_in_shadow(workspace_of(WEB), interpreter=lean, **asked)
    assert (run.status, passed(run), run.is_beside) == ("ran", ["tests/test_price.py::test_price"], False)
    assert {bad.test_id: bad.message for bad in run.failed} == {
        "tests/web/conftest.py": "ModuleNotFoundError: No module named 'nonexistent'",
        "tests/test_web/conftest.py": "RuntimeError: set HOST first",
    }
    assert sorted(map(str, run.without)) == [
        (
            "The tests in tests/test_web were not run: tests/test_web/conftest.py raises RuntimeError: set HOST first. "
            "Mend tests/test_web/conftest.py, then try again."
        ),
        (
            "The tests in tests/web were not run: tests/web/conftest.py raises ModuleNotFoundError: "
            f"No module named 'nonexistent'. Install nonexistent into {lean.path}, then try again."
        ),
    ]


async def test_a_run_is_beside_the_point_where_all_that_was_to_run_first_is_left_out(
    workspace_of: WorkspaceOf, run_in_shadow: RunInShadow
) -> None:
    suite = Suite(("tests/web/test_page.py",), rest_s=PATIENCE_S)
    run = await run_in_shadow(workspace_of(WEB), suite=suite)
    assert (passed(run), run.is_beside) == (["tests/test_price.py::test_price"], True)


@pytest.mark.parametrize("targets", [[], ["tests/test_price.py"]])
async def test_a_conftest_above_all_tests_leaves_nothing_to_run_and_the_next_step_is_told(
    workspace_of: WorkspaceOf, run_in_shadow: RunInShadow, lean: Interpreter, targets: list[str]
) -> None:
    text = "#- tests/conftest.py\nimport nonexistent\n#- tests/test_price.py\ndef test_price(): pass\n"
    run = await run_in_shadow(workspace_of(text), targets, interpreter=lean)
    assert [bad.test_id for bad in run.outcomes] == ["tests/conftest.py"]
    assert run.without[0].reason.endswith(f"Install nonexistent into {lean.path}, then try again.")


async def test_a_module_of_the_repository_itself_is_not_to_be_installed(
    workspace_of: WorkspaceOf, run_in_shadow: RunInShadow
) -> None:
    text = "#- shop/__init__.py\n#- conftest.py\nimport shop.gone\n#- test_a.py\ndef test_a(): pass\n"
    run = await run_in_shadow(workspace_of(text))
    assert [gap.reason for gap in run.without] == [
        "conftest.py raises ModuleNotFoundError: No module named 'shop.gone'. Mend conftest.py, then try again."
    ]


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        (
            "addopts = -q --cov=shop --cov-report term -n 4 -m 'not slow'",
            (
                "The tests ran without options of addopts: pytest does not know --cov=shop --cov-report -n 4 here. "
                "Install the plug-ins that add them into"
            ),
        ),
        (
            "addopts = -p nonexistent.plugin -m 'not slow'",
            (
                "The tests ran without the plug-in nonexistent.plugin of addopts: No module named 'nonexistent'. "
                "Install nonexistent into"
            ),
        ),
        (
            "addopts = -pbroken -m 'not slow'",
            "The tests ran without the plug-in broken of addopts: RuntimeError: no display. Mend broken, then",
        ),
        (
            "addopts = -m 'not slow'\n    required_plugins = pytest-one pytest-two>=3",
            "The tests ran without plug-ins: The repository requires pytest-one, pytest-two>=3. Install them into",
        ),
        (
            "addopts = --strict-config -m 'not slow'\n    asyncio_mode = auto",
            "The tests ran without the setting asyncio_mode: pytest does not know it here. Install the plug-in that",
        ),
        (
            "addopts = -m 'not slow'\n    filterwarnings = error\n    asyncio_mode = auto",
            "The tests ran without the setting asyncio_mode: pytest does not know it here. Install the plug-in that",
        ),
    ],
)
async def test_what_pytest_cannot_begin_with_is_left_out_and_the_other_arguments_stay(
    workspace_of: WorkspaceOf, run_in_shadow: RunInShadow, lean: Interpreter, settings: str, told: str
) -> None:
    workspace = workspace_of(f"""
        #- pytest.ini
        [pytest]
        {settings.replace("    ", "        ")}
        markers = slow
        #- broken.py
        raise RuntimeError("no display")
        #- test_a.py
        import pytest
        def test_quick(): pass
        @pytest.mark.slow
        def test_slow(): pass
    """)
    run = await run_in_shadow(workspace, interpreter=lean)
    assert (run.status, passed(run)) == ("ran", ["test_a.py::test_quick"]), run.reason
    assert str(run.without[0]).startswith(told), run.without


async def test_several_things_at_fault_are_left_out_one_after_the_other(
    workspace_of: WorkspaceOf, run_in_shadow: RunInShadow, lean: Interpreter
) -> None:
    faulty = WEB.replace(
        "testpaths", "required_plugins = pytest-one\n    addopts = --one -p nonexistent\n    testpaths"
    )
    run = await run_in_shadow(workspace_of(faulty), ["tests/web/test_page.py", "tests"], interpreter=lean)
    assert passed(run) == ["tests/test_price.py::test_price"]
    assert len(run.without) == 5


async def test_a_configuration_that_cannot_be_read_keeps_all_tests_from_running(
    workspace_of: WorkspaceOf, run_in_shadow: RunInShadow
) -> None:
    run = await run_in_shadow(workspace_of("#- pytest.ini\n[pytest\n#- test_a.py\ndef test_a(): pass\n"))
    assert (run.status, run.outcomes) == ("not run", ())
    assert run.reason.endswith("Mend its configuration, then try again.")
