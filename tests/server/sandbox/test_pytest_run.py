"""What a run of the tests shows: outcomes, coverage and reasons, of the copy and of nothing else."""

from __future__ import annotations

import asyncio
import hashlib
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from rolecall_server.sandbox import Interpreter, Shadow, TestRun, run_tests, shadow_workspace
from rolecall_server.sandbox.walls.bubblewrap import Bubblewrap, usual_limits
from rolecall_server.sandbox.walls.confinement import Command, ConfinedPaths, Confinement, Unconfined
from rolecall_server.workspace import Workspace
from support.patience import PATIENCE_S

WorkspaceOf = Callable[..., Workspace]
RunInShadow = Callable[..., Awaitable[TestRun]]


PRICE = """
    #- price.py
    def discount(total):
        if total > 100:
            return total * 0.9
        return total


    def unused():
        return 1
"""


def outcomes(run: TestRun) -> dict[str, str]:
    return {outcome.test_id: outcome.outcome for outcome in run.outcomes}


def fingerprints(root: Path) -> dict[str, tuple[str, int]]:
    return {
        str(path): (hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "", path.lstat().st_mtime_ns)
        for path in root.rglob("*")
    }


async def test_every_outcome_is_told_with_its_reason(workspace_of: WorkspaceOf, run_in_shadow: RunInShadow) -> None:
    run = await run_in_shadow(
        workspace_of("""
            #- test_all.py
            import unittest
            import pytest

            def test_passes(): pass
            def test_fails(): assert 1 == 2, "sums"
            def test_raises(): raise ValueError("\\n  first line\\nsecond line")
            @pytest.mark.skip(reason="later")
            def test_skipped(): pass
            @pytest.mark.xfail(reason="known")
            def test_xfailed(): assert 0
            @pytest.mark.xfail(reason="was known")
            def test_xpassed(): pass
            @pytest.mark.xfail(strict=True, reason="was known")
            def test_strict(): pass
            @pytest.fixture
            def broken(): raise KeyError("x")
            def test_setup(broken): pass
            @pytest.fixture
            def leaky():
                yield
                raise OSError("leak")
            def test_teardown(leaky): pass
            def test_fixture(nonexistent): pass
            @pytest.mark.parametrize("n", [1, 2])
            def test_parameters(n): assert n == 1
            class TestCase(unittest.TestCase):
                def test_method(self): self.assertEqual([1], [2])
        """)
    )
    assert run.status == "ran"
    assert {o.test_id.removeprefix("test_all.py::"): (o.outcome, o.message) for o in run.outcomes} == {
        "test_passes": ("passed", ""),
        "test_fails": ("failed", "AssertionError: sums"),
        "test_raises": ("failed", "ValueError: first line"),
        "test_skipped": ("skipped", "later"),
        "test_xfailed": ("xfailed", "known"),
        "test_xpassed": ("xpassed", "was known"),
        "test_strict": ("failed", "[XPASS(strict)] was known"),
        "test_setup": ("error", "KeyError: 'x'"),
        "test_teardown": ("error", "OSError: leak"),
        "test_fixture": ("error", "fixture 'nonexistent' not found"),
        "test_parameters[1]": ("passed", ""),
        "test_parameters[2]": ("failed", "AssertionError: assert 2 == 1"),
        "TestCase::test_method": ("failed", "AssertionError: Lists differ: [1] != [2]"),
    }
    failing = {one.test_id: one for one in run.outcomes}.get("test_all.py::test_parameters[2]")
    assert failing is not None
    assert "test_all.py:" in failing.detail
    assert "E   assert 2 == 1" in failing.detail
    assert (len(run.passed), len(run.failed), len(run.skipped)) == (3, 8, 2)


async def test_files_that_cannot_be_collected_are_errors_and_the_others_run(
    workspace_of: WorkspaceOf, run_in_shadow: RunInShadow
) -> None:
    run = await run_in_shadow(
        workspace_of("""
            #- test_good.py
            def test_good(): pass
            #- test_import.py
            import nonexistent
            #- test_syntax.py
            def test_x(:
            #- test_top.py
            1 / 0
            #- test_skipped.py
            import pytest
            pytest.skip("no display", allow_module_level=True)
        """)
    )
    assert run.status == "ran"
    assert {o.test_id: (o.outcome, o.message) for o in run.outcomes} == {
        "test_good.py::test_good": ("passed", ""),
        "test_import.py": ("error", "ModuleNotFoundError: No module named 'nonexistent'"),
        "test_syntax.py": ("error", "SyntaxError: invalid syntax (test_syntax.py, line 1)"),
        "test_top.py": ("error", "ZeroDivisionError: division by zero"),
        "test_skipped.py": ("skipped", "no display"),
    }


async def test_a_conftest_that_cannot_be_imported_is_an_error(
    workspace_of: WorkspaceOf, run_in_shadow: RunInShadow
) -> None:
    run = await run_in_shadow(workspace_of("#- conftest.py\nimport nonexistent\n#- test_a.py\ndef test_a(): pass\n"))
    assert run.status == "ran"
    (broken,) = run.outcomes
    assert (broken.test_id, broken.outcome) == ("conftest.py", "error")
    assert broken.message == "ModuleNotFoundError: No module named 'nonexistent'"


async def test_only_the_targets_run(workspace_of: WorkspaceOf, run_in_shadow: RunInShadow) -> None:
    workspace = workspace_of("""
        #- tests/test_a.py
        def test_one(): pass
        def test_two(): pass
        #- tests/test_b.py
        def test_three(): pass
        #- -odd/test_c.py
        def test_four(): pass
    """)
    run = await run_in_shadow(workspace, ["tests/test_a.py::test_two", "tests/test_b.py"])
    assert set(outcomes(run)) == {"tests/test_a.py::test_two", "tests/test_b.py::test_three"}
    assert set(outcomes(await run_in_shadow(workspace, ["-odd"]))) == {"-odd/test_c.py::test_four"}


async def test_a_target_that_does_not_exist_is_said(workspace_of: WorkspaceOf, run_in_shadow: RunInShadow) -> None:
    workspace = workspace_of("#- test_a.py\ndef test_a(): pass\n")
    run = await run_in_shadow(workspace, ["test_none.py"])
    assert (run.status, run.outcomes) == ("not run", ())
    assert "test_none.py" in run.reason
    run = await run_in_shadow(workspace, ["test_a.py::test_none"])
    assert (run.status, run.outcomes) == ("not run", ())
    assert "test_a.py::test_none" in run.reason


async def test_a_workspace_without_tests_is_said_to_have_none(
    workspace_of: WorkspaceOf, run_in_shadow: RunInShadow
) -> None:
    run = await run_in_shadow(workspace_of("#- a.py\n"))
    assert run.status == "no tests"
    assert run.reason


async def test_the_repositorys_own_configuration_is_respected(
    workspace_of: WorkspaceOf, run_in_shadow: RunInShadow
) -> None:
    run = await run_in_shadow(
        workspace_of("""
            #- pyproject.toml
            [tool.pytest.ini_options]
            python_files = ["check_*.py"]
            testpaths = ["checks"]
            addopts = "-x --tb=no -q -m 'not slow'"
            markers = ["slow: takes long"]
            filterwarnings = ["error"]
            #- conftest.py
            import pytest
            @pytest.fixture
            def seven(): return 7
            #- checks/check_a.py
            import pytest, warnings
            def test_fails(seven): assert seven == 8
            def test_warns(): warnings.warn("old", DeprecationWarning)
            @pytest.mark.slow
            def test_slow(): pass
            def test_passes(seven): assert seven == 7
            #- test_elsewhere.py
            def test_elsewhere(): pass
        """),
        measure=["conftest.py"],
    )
    assert outcomes(run) == {
        "checks/check_a.py::test_fails": "failed",
        "checks/check_a.py::test_warns": "failed",
        "checks/check_a.py::test_passes": "passed",
    }
    assert "assert 7 == 8" in run.outcomes[0].detail


async def test_coverage_counts_lines_and_branches_of_the_files_asked_for(
    workspace_of: WorkspaceOf, run_in_shadow: RunInShadow
) -> None:
    text = (
        PRICE
        + """
    #- other.py
    X = 1
    #- never.py
    def f():
        return 1
    #- test_price.py
    import other
    from price import discount
    def test_small(): assert discount(50) == 50
    """
    )
    run = await run_in_shadow(workspace_of(text), measure=["price.py", "never.py"])
    assert set(run.coverage) == {"price.py", "never.py"}
    measured = run.coverage["price.py"]
    assert measured.path == "price.py"
    assert measured.executed_lines == {1, 2, 4, 7}
    assert measured.missing_lines == {3, 8}
    assert (measured.branches_total, measured.branches_covered) == (2, 1)
    assert measured.branches == {(2, 4)}
    assert measured.ratio == pytest.approx(5 / 8)
    assert run.coverage["never.py"].executed_lines == frozenset()
    assert run.coverage_reason == ""


async def test_coverage_leaves_out_what_the_repository_says_does_not_count(
    workspace_of: WorkspaceOf, run_in_shadow: RunInShadow
) -> None:
    run = await run_in_shadow(
        workspace_of("""
            #- .coveragerc
            [run]
            omit = */shop.py
            parallel = true
            concurrency = multiprocessing, thread
            [report]
            exclude_also = raise NotImplementedError
            fail_under = 100
            #- shop.py
            def a(): return 1
            def b():
                raise NotImplementedError
            def c():  # pragma: no cover
                return 2
            def d():
                return 3
            #- test_shop.py
            import shop
            def test_a(): assert shop.a() == 1
        """),
        measure=["shop.py"],
    )
    assert run.coverage["shop.py"].missing_lines == {7}
    assert 4 not in run.coverage["shop.py"].executed_lines


async def test_what_cannot_be_measured_is_said_and_the_rest_is_measured(
    workspace_of: WorkspaceOf, run_in_shadow: RunInShadow
) -> None:
    text = "#- a.py\nA = 1\n#- broken.py\ndef f(:\n#- test_a.py\nimport a\ndef test_a(): pass\n"
    run = await run_in_shadow(workspace_of(text), measure=["a.py", "broken.py", "gone.py"])
    assert run.status == "ran"
    assert set(run.coverage) == {"a.py"}
    assert "broken.py" in run.coverage_reason
    assert "gone.py does not exist" in run.coverage_reason


async def test_coverage_is_lent_to_an_interpreter_without_it(
    workspace_of: WorkspaceOf, run_in_shadow: RunInShadow, lean: Interpreter
) -> None:
    text = (
        PRICE
        + """
    #- test_price.py
    import importlib.util
    import pytest
    from price import discount
    def test_large(): assert discount(200) == 180
    @pytest.mark.parametrize("ours", ["psutil", "pygls", "rolecall_server", "hypothesis"])
    def test_nothing_else_is_lent(ours): assert importlib.util.find_spec(ours) is None
    """
    )
    run = await run_in_shadow(workspace_of(text), measure=["price.py"], interpreter=lean)
    assert (len(run.passed), len(run.failed)) == (5, 0)
    assert run.coverage["price.py"].missing_lines == {4, 8}


async def test_tests_run_without_coverage_where_coverage_cannot_be_imported(
    workspace_of: WorkspaceOf, run_in_shadow: RunInShadow, make_environment: Callable[..., Path], tmp_path: Path
) -> None:
    (make_environment(tmp_path / "broken") / "coverage.py").write_text("1 / 0\n")
    broken = Interpreter(tmp_path / "broken" / "bin" / "python", "test")
    text = "#- a.py\n#- test_a.py\nimport a\ndef test_a(): pass\n"
    run = await run_in_shadow(workspace_of(text), measure=["a.py"], interpreter=broken)
    assert (run.status, len(run.passed), dict(run.coverage)) == ("ran", 1, {})
    assert "ZeroDivisionError" in run.coverage_reason


async def test_a_src_layout_needs_no_installation(workspace_of: WorkspaceOf, run_in_shadow: RunInShadow) -> None:
    text = "#- src/shop/__init__.py\nA = 1\n#- tests/test_shop.py\nimport shop\ndef test_a(): assert shop.A == 1\n"
    run = await run_in_shadow(workspace_of(text), measure=["src/shop/__init__.py"])
    assert outcomes(run) == {"tests/test_shop.py::test_a": "passed"}
    assert run.coverage["src/shop/__init__.py"].ratio == 1


FINDER = """
import sys
from importlib.util import spec_from_file_location
from pathlib import Path

PACKAGE = Path({package!r})

class Finder:
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name == PACKAGE.name:
            return spec_from_file_location(
                name, PACKAGE / "__init__.py", submodule_search_locations=[str(PACKAGE)]
            )

def install():
    sys.meta_path.insert({position}, Finder)
"""


@pytest.mark.parametrize("kind", ["path", "finder behind", "finder ahead"])
@pytest.mark.parametrize("home", ["src", "lib"])
async def test_an_editable_installation_of_the_workspace_does_not_hide_the_copy(
    workspace_of: WorkspaceOf,
    run_in_shadow: RunInShadow,
    make_environment: Callable[..., Path],
    root: Path,
    home: str,
    kind: str,
) -> None:
    workspace = workspace_of(f"""
        #- {home}/shop/__init__.py
        WHERE = "original"
        #- {home}/shop/till.py
        WHERE = "original"
        #- tests/test_shop.py
        import shop, shop.till
        def test_import(): assert (shop.WHERE, shop.till.WHERE) == ("proposal", "proposal")
    """)
    site = make_environment(root / ".venv", with_coverage=True)
    if kind == "path":
        (site / "editable.pth").write_text(f"{root / home}\n")
    else:
        position = 0 if kind == "finder ahead" else 99
        (site / "editable_finder.py").write_text(FINDER.format(package=str(root / home / "shop"), position=position))
        (site / "editable.pth").write_text("import editable_finder; editable_finder.install()\n")
    path = f"{home}/shop/__init__.py"
    run = await run_in_shadow(
        workspace,
        measure=[path],
        interpreter=Interpreter(root / ".venv" / "bin" / "python", ".venv"),
        proposal={path: 'WHERE = "proposal"\n', f"{home}/shop/till.py": 'WHERE = "proposal"\n'},
    )
    assert outcomes(run) == {"tests/test_shop.py::test_import": "passed"}, run.output
    assert run.coverage[path].ratio == 1


async def test_processes_that_tests_start_import_the_copy_too(
    workspace_of: WorkspaceOf, run_in_shadow: RunInShadow, make_environment: Callable[..., Path], root: Path
) -> None:
    workspace = workspace_of("""
        #- lib/shop.py
        print("original")
        #- test_shop.py
        import subprocess, sys
        def test_command(tmp_path):
            said = subprocess.check_output([sys.executable, "-m", "shop"], cwd=tmp_path, text=True)
            assert said == "proposal\\n"
    """)
    site = make_environment(root / ".venv")
    (site / "editable.pth").write_text(f"{root / 'lib'}\n")
    interpreter = Interpreter(root / ".venv" / "bin" / "python", ".venv")
    run = await run_in_shadow(workspace, interpreter=interpreter, proposal={"lib/shop.py": 'print("proposal")\n'})
    assert outcomes(run) == {"test_shop.py::test_command": "passed"}


async def test_a_module_that_a_proposal_deletes_is_not_imported_from_the_workspace(
    workspace_of: WorkspaceOf, run_in_shadow: RunInShadow, make_environment: Callable[..., Path], root: Path
) -> None:
    workspace = workspace_of("#- lib/space/shop.py\n#- test_shop.py\nimport space.shop\ndef test_a(): pass\n")
    site = make_environment(root / ".venv")
    (site / "editable.pth").write_text(f"{root / 'lib'}\n")
    interpreter = Interpreter(root / ".venv" / "bin" / "python", ".venv")
    run = await run_in_shadow(workspace, interpreter=interpreter, proposal={"lib/space/shop.py": None})
    assert [outcome.message for outcome in run.outcomes] == ["ModuleNotFoundError: No module named 'space.shop'"]


async def test_a_run_without_walls_that_imported_the_workspace_itself_proves_nothing(
    workspace_of: WorkspaceOf, run_in_shadow: RunInShadow, root: Path, confinement: Confinement
) -> None:
    workspace = workspace_of(f"""
        #- lib/shop.py
        #- test_shop.py
        import sys
        sys.path.insert(0, {str(root / "lib")!r})
        import shop
        def test_shop(): pass
    """)
    run = await run_in_shadow(workspace)
    if isinstance(confinement, Unconfined):
        assert run.status == "not run"
        assert "imported shop from the workspace itself" in run.reason
    else:
        # Behind walls there is only the shadow in the workspace's place.
        assert outcomes(run) == {"test_shop.py::test_shop": "passed"}


async def test_an_interpreter_without_pytest_runs_nothing_and_says_the_next_step(
    workspace_of: WorkspaceOf, run_in_shadow: RunInShadow, make_environment: Callable[..., Path], tmp_path: Path
) -> None:
    make_environment(tmp_path / "bare", with_pytest=False)
    bare = tmp_path / "bare" / "bin" / "python"
    run = await run_in_shadow(
        workspace_of("#- test_a.py\ndef test_a(): pass\n"), interpreter=Interpreter(bare, "VIRTUAL_ENV")
    )
    assert run.status == "not run"
    for part in (str(bare), "VIRTUAL_ENV", "has no pytest", "-m pip install pytest", "rolecall.tests.interpreter"):
        assert part in run.reason


COVERAGE_PLUGIN = """
    #- .venv/pytest_cov.py
    def pytest_addoption(parser):
        parser.addoption("--cov")
        parser.addoption("--no-cov", action="store_true")

    def pytest_sessionfinish(session):
        if not session.config.getoption("--no-cov"):
            session.exitstatus = 99
"""


@pytest.mark.parametrize("is_switched_off", [False, True])
async def test_an_installed_plugin_is_kept_from_measuring_itself(
    workspace_of: WorkspaceOf,
    run_in_shadow: RunInShadow,
    make_environment: Callable[..., Path],
    root: Path,
    is_switched_off: bool,
) -> None:
    options = "" if is_switched_off else "-p pytest_cov --cov=shop"
    site = make_environment(root / ".venv", with_coverage=True)
    workspace = workspace_of(f"""
        #- pytest.ini
        [pytest]
        addopts = {options}
        #- shop.py
        A = 1
        #- test_a.py
        import shop
        def test_a(request):
            assert request.config.getoption("--no-cov", default="absent") is not False
    """)
    workspace_of(COVERAGE_PLUGIN)
    (root / ".venv" / "pytest_cov.py").rename(site / "pytest_cov.py")
    interpreter = Interpreter(root / ".venv" / "bin" / "python", ".venv")
    run = await run_in_shadow(workspace, measure=["shop.py"], interpreter=interpreter)
    assert outcomes(run) == {"test_a.py::test_a": "passed"}, run.reason
    assert run.coverage["shop.py"].ratio == 1


async def test_who_has_pytest_load_no_installed_plugins_has_none_loaded_in_the_sandbox(
    workspace_of: WorkspaceOf,
    run_in_shadow: RunInShadow,
    make_environment: Callable[..., Path],
    root: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    site = make_environment(root / ".venv")
    (site / "greeting.py").write_text("def pytest_configure(config): config.greets = True\n")
    (site / "greeting-1.dist-info").mkdir()
    (site / "greeting-1.dist-info/METADATA").write_text("Metadata-Version: 2.1\nName: greeting\nVersion: 1\n")
    (site / "greeting-1.dist-info/entry_points.txt").write_text("[pytest11]\ngreeting = greeting\n")
    workspace = workspace_of("""
        #- test_a.py
        def test_plain(pytestconfig): assert not hasattr(pytestconfig, "greets")
    """)
    interpreter = Interpreter(root / ".venv" / "bin" / "python", ".venv")
    run = await run_in_shadow(workspace, interpreter=interpreter)
    assert outcomes(run) == {"test_a.py::test_plain": "failed"}, run.reason
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    run = await run_in_shadow(workspace, interpreter=interpreter)
    assert outcomes(run) == {"test_a.py::test_plain": "passed"}, run.reason


async def test_a_crash_keeps_what_ran_before_it(workspace_of: WorkspaceOf, run_in_shadow: RunInShadow) -> None:
    run = await run_in_shadow(
        workspace_of("""
            #- shop.py
            #- test_a.py
            import os
            import shop
            def test_before(): pass
            def test_crash(): os.kill(os.getpid(), 11)
            def test_after(): pass
        """),
        measure=["shop.py"],
    )
    assert run.status == "crashed"
    assert outcomes(run) == {"test_a.py::test_before": "passed", "test_a.py::test_crash": "error"}
    assert "SIGSEGV in test_a.py::test_crash" in run.reason
    assert "did not come to its end" in run.coverage_reason


@pytest.mark.parametrize("ending", ["os._exit(0)", "pytest.exit('enough')", "raise KeyboardInterrupt"])
async def test_a_session_that_a_test_ends_early_did_not_run(
    workspace_of: WorkspaceOf, run_in_shadow: RunInShadow, ending: str
) -> None:
    text = f"#- test_a.py\nimport os, pytest\ndef test_before(): pass\ndef test_end(): {ending}\n"
    run = await run_in_shadow(workspace_of(text))
    assert run.status == "crashed"
    assert outcomes(run)["test_a.py::test_before"] == "passed"
    assert run.reason


async def test_a_timeout_keeps_what_ran_before_it_and_names_the_test(
    workspace_of: WorkspaceOf, run_in_shadow: RunInShadow
) -> None:
    text = "#- test_a.py\nimport time\ndef test_before(): pass\ndef test_hangs(): time.sleep(600)\n"
    workspace = workspace_of(text)
    for timeout_s in (5, 30, PATIENCE_S):  # a slow machine takes longer until a test runs
        run = await run_in_shadow(workspace, timeout_s=timeout_s)
        assert run.status == "timed out"
        if run.outcomes:
            break
    assert outcomes(run) == {"test_a.py::test_before": "passed", "test_a.py::test_hangs": "error"}
    assert "test_a.py::test_hangs was running" in run.reason


async def test_a_test_that_deletes_its_own_folder_is_survived(
    workspace_of: WorkspaceOf, python: Interpreter, temporary: Path, root: Path, confinement: Confinement
) -> None:
    workspace = workspace_of("""
        #- test_a.py
        import os, shutil
        def test_a(): shutil.rmtree(os.getcwd(), ignore_errors=True)
        def test_b(): assert not os.path.exists("test_a.py")
    """)
    before = fingerprints(root)
    async with shadow_workspace(workspace, confinement) as shadow:
        assert isinstance(shadow, Shadow)
        first = await run_tests(shadow, python, timeout_s=PATIENCE_S)
        assert outcomes(first) == {"test_a.py::test_a": "passed", "test_a.py::test_b": "passed"}
        second = await run_tests(shadow, python, timeout_s=PATIENCE_S)
        if confinement.overlays:
            assert outcomes(second) == outcomes(first)
        else:
            assert second.status in ("not run", "no tests")
            assert second.reason
    assert list(temporary.iterdir()) == []
    assert fingerprints(root) == before


async def test_a_suite_that_prints_a_gigabyte_ends_and_little_of_it_is_kept(
    workspace_of: WorkspaceOf, python: Interpreter, temporary: Path
) -> None:
    text = """
    #- pytest.ini
    [pytest]
    addopts = -s
    #- test_a.py
    import os
    def test_a():
        for _ in range(1024): os.write(1, b"x" * 2**20)
    """
    walls = Bubblewrap(Path("/usr/bin/bwrap"), overlays=True, limits=usual_limits())
    async with shadow_workspace(workspace_of(text), walls) as shadow:
        assert isinstance(shadow, Shadow)
        run = await run_tests(shadow, python, timeout_s=PATIENCE_S)
    assert run.status == "ran", run.reason
    assert len(run.output) < 100_000
    assert list(temporary.iterdir()) == []


async def test_tests_that_fork_are_told_once(workspace_of: WorkspaceOf, run_in_shadow: RunInShadow) -> None:
    text = "#- test_a.py\nimport os\ndef test_fork(): assert os.fork()\ndef test_more(): pass\n"
    run = await run_in_shadow(workspace_of(text))
    assert outcomes(run) == {"test_a.py::test_fork": "passed", "test_a.py::test_more": "passed"}


async def test_the_tests_see_no_key_no_home_and_no_file_of_ours(
    workspace_of: WorkspaceOf, run_in_shadow: RunInShadow, monkeypatch: pytest.MonkeyPatch, temporary: Path
) -> None:
    for name in ("OPENAI_API_KEY", "ROLECALL_MODEL", "PYTEST_ADDOPTS", "PYTHONSTARTUP", "SSH_AUTH_SOCK"):
        monkeypatch.setenv(name, "canary")
    run = await run_in_shadow(
        workspace_of("""
            #- test_environment.py
            import os, pathlib, sys, tempfile
            def test_environment():
                expected = {
                    "PATH", "HOME", "TMPDIR", "TMP", "TEMP", "LANG", "PYTHONPATH", "PYTHONHASHSEED",
                    "PYTHONDONTWRITEBYTECODE", "PYTHONUSERBASE", "ROLECALL_RUN", "PYTEST_VERSION",
                    "PYTEST_CURRENT_TEST", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME",
                    "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "PWD",
                }
                assert set(os.environ) - expected == set()
                assert "canary" not in str(dict(os.environ))
            def test_home():
                assert list(pathlib.Path.home().iterdir()) == []
                assert pathlib.Path(tempfile.gettempdir()).parent == pathlib.Path.home().parent
            def test_python(): assert os.environ["PATH"].split(":")[0] == os.path.dirname(sys.executable)
        """)
    )
    assert set(outcomes(run).values()) == {"passed"}, run.outcomes
    assert list(temporary.iterdir()) == []


async def test_the_users_files_are_untouched_by_tests_that_write(
    workspace_of: WorkspaceOf, run_in_shadow: RunInShadow, root: Path
) -> None:
    workspace = workspace_of("""
        #- data.txt
        mine
        #- shop.py
        A = 1
        #- test_a.py
        import os, pathlib, shop
        def test_write():
            for path in pathlib.Path(".").rglob("*"):
                if path.is_file():
                    path.write_text("overwritten")
            os.mkdir("more")
            pathlib.Path("linked.txt").write_text("overwritten")
    """)
    (root / "linked.txt").symlink_to(root / "data.txt")
    before = fingerprints(root)
    run = await run_in_shadow(workspace, measure=["shop.py"], proposal={"shop.py": "A = 2\n", "new.py": "N = 1\n"})
    assert outcomes(run) == {"test_a.py::test_write": "passed"}
    assert fingerprints(root) == before


async def test_results_name_no_path_of_this_machine_and_are_the_same_twice(
    workspace_of: WorkspaceOf, run_in_shadow: RunInShadow, root: Path, temporary: Path
) -> None:
    workspace = workspace_of(f"""
        #- test_a.py
        import json, os, pathlib, warnings
        def test_here(): raise OSError(__file__)
        def test_original(): raise OSError({str(root / "data.txt")!r})
        def test_folder(): raise OSError(os.getcwd())
        def test_temporary(tmp_path): raise OSError(str(tmp_path))
        def test_home(): raise OSError(str(pathlib.Path.home()))
        def test_library(): json.loads("")
        def test_address(): raise ValueError(object())
        def test_set(): raise ValueError({{"a", "b", "c", "d", "e"}})
        def test_neighbour(): raise OSError("{root}-old/x ../../x")
    """)
    first, second = [await run_in_shadow(workspace) for _ in range(2)]
    said = [(outcome.test_id, outcome.message, outcome.detail) for outcome in first.outcomes]
    assert said == [(outcome.test_id, outcome.message, outcome.detail) for outcome in second.outcomes]
    messages = {outcome.test_id.removeprefix("test_a.py::"): outcome.message for outcome in first.outcomes}
    assert messages["test_here"] == "OSError: test_a.py"
    assert messages["test_original"] == "OSError: data.txt"
    assert messages["test_folder"] == "OSError: ."
    assert messages["test_temporary"] == "OSError: $TMPDIR/pytest/test_temporary0"
    assert messages["test_home"] == "OSError: ~"
    assert messages["test_address"] == "ValueError: <object object at 0x...>"
    assert messages["test_neighbour"] == f"OSError: {root}-old/x ../../x"
    library = {one.test_id: one for one in first.outcomes}.get("test_a.py::test_library")
    assert library is not None
    assert "\n<python>/json/decoder.py:" in library.detail
    for text in (*(text for texts in said for text in texts), first.output):
        assert str(temporary) not in text
        assert "/lib/python" not in text


async def test_a_root_that_is_a_package_keeps_its_name(workspace_of: WorkspaceOf, run_in_shadow: RunInShadow) -> None:
    text = (
        "#- __init__.py\nA = 1\n#- tests/__init__.py\n#- tests/test_a.py\nfrom project import A\ndef test_a(): pass\n"
    )
    run = await run_in_shadow(workspace_of(text))
    assert outcomes(run) == {"tests/test_a.py::test_a": "passed"}


SERVER = """
import asyncio, os
from pathlib import Path
from rolecall_server.sandbox import Interpreter, Unconfined, run_tests, shadow_workspace
from rolecall_server.workspace import Workspace

async def main():
    async with shadow_workspace(Workspace(Path({root!r})), Unconfined()) as shadow:
        for name in ("", "logging"):
            shadow.write({{"logging.py": None}} if not name else {{}})
            run = await run_tests(shadow, Interpreter(Path({python!r}), "test"), measure=["a.py"], timeout_s={patience})
            print(os.getpid(), run.status, len(run.passed))

asyncio.run(main())
"""


def test_hostile_modules_of_the_workspace_run_in_the_tests_process_alone(
    workspace_of: WorkspaceOf, python: Interpreter, root: Path, tmp_path: Path
) -> None:
    witness = tmp_path / "witness"
    tell = f"import os\nopen({str(witness)!r}, 'a').write(f'{{os.getpid()}} {{os.getppid()}} {{__file__}}\\n')\n"
    names = ("logging", "sitecustomize", "usercustomize", "psutil", "asyncio", "ctypes", "rolecall_server")
    modules = "".join(f"#- {name}.py\n{tell}" for name in names)
    workspace_of(modules + "#- a.py\n#- test_a.py\nimport a, psutil\ndef test_a(): pass\n")
    code = SERVER.format(root=str(root), python=str(python.path), patience=PATIENCE_S)
    server = subprocess.run([sys.executable, "-I", "-c", code], cwd=root, capture_output=True, text=True, check=True)
    without_logging, with_logging = server.stdout.splitlines()
    pid, *rest = without_logging.split()
    assert rest == ["ran", "1"]
    assert with_logging.split()[1:] == ["ran", "1"]
    witnesses = [line.split() for line in witness.read_text().splitlines()]
    assert {Path(file).name for *_, file in witnesses} == {"psutil.py"}
    for process, parent, file in witnesses:
        assert not Path(file).is_relative_to(root)
        # The supervisor stands between the server and the tests.
        assert pid not in (process, parent)


@pytest.mark.parametrize("pause_s", [0.0, 0.01, 0.05, 0.1, 0.2, 0.4, 0.8])
async def test_a_run_that_is_cancelled_at_any_time_leaves_no_process_no_folder_and_no_mount(
    workspace_of: WorkspaceOf, run_in_shadow: RunInShadow, temporary: Path, pause_s: float
) -> None:
    workspace = workspace_of("""
        #- test_a.py
        import subprocess, sys, time
        def test_a():
            subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
            time.sleep(600)
    """)
    task = asyncio.ensure_future(run_in_shadow(workspace))
    await asyncio.sleep(pause_s)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert processes_that_name(temporary) == []
    assert list(temporary.iterdir()) == []
    assert str(temporary) not in Path("/proc/self/mounts").read_text()


def processes_that_name(folder: Path) -> list[int]:
    """The processes whose arguments or variables have the path of *folder*, as everything of a run does."""
    found: list[int] = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            said = [*process.cmdline(), *process.environ().values()]
            if process.pid != os.getpid() and any(str(folder) in word for word in said):
                found.append(process.pid)
    return found


async def test_eight_runs_at_once_do_not_disturb_each_other(
    workspace_of: WorkspaceOf, run_in_shadow: RunInShadow, temporary: Path
) -> None:
    workspace = workspace_of("#- a.py\nA = 0\n#- test_a.py\nimport a\ndef test_a(): assert a.A == 3\n")
    runs = await asyncio.gather(
        *(run_in_shadow(workspace, measure=["a.py"], proposal={"a.py": f"A = {number}\n"}) for number in range(8))
    )
    assert [len(run.passed) for run in runs] == [0, 0, 0, 1, 0, 0, 0, 0]
    assert all(run.coverage["a.py"].ratio == 1 for run in runs)
    assert list(temporary.iterdir()) == []


async def test_the_confinement_decides_what_is_started(workspace_of: WorkspaceOf, python: Interpreter) -> None:
    seen: list[tuple[Command, ConfinedPaths]] = []

    class Watching(Unconfined):
        def confine(self, command: Command, room: ConfinedPaths) -> Command:
            seen.append((command, room))
            environment: Mapping[str, str] = {**command.environment, "CONFINED": "yes"}
            return Command(("/usr/bin/env", *command.arguments), environment)

    text = "#- test_a.py\nimport os\ndef test_a(): assert os.environ['CONFINED'] == 'yes'\n"
    async with shadow_workspace(workspace_of(text), Watching("watched")) as shadow:
        assert isinstance(shadow, Shadow)
        run = await run_tests(shadow, python, timeout_s=PATIENCE_S)
        assert (len(run.passed), run.confinement) == (1, "watched")
        (_, (command, room)) = seen  # the interpreter is asked first, by the same confinement
        assert command.arguments[:2] == (str(python.path), "-c")
        assert python.path.parent.parent in room.readable
        assert room.told.parent.parent == room.own.parent


async def test_garbled_reports_are_survived(workspace_of: WorkspaceOf, run_in_shadow: RunInShadow) -> None:
    run = await run_in_shadow(
        workspace_of("""
            #- test_a.py
            import os
            def test_a(request):
                reporter = type(request.config.pluginmanager.get_plugin("rolecall-reporter"))
                path = os.path.join(os.path.dirname(reporter.__init__.__globals__["__file__"]), "report.jsonl")
                with open(path, "ab") as report:
                    report.write(b'\\xff\\x00 {"kind":\\n[]\\n7\\n')
                    report.write(b'{"kind": "report"}\\n{"kind": "coverage", "path": 7}\\n')
                    report.write(b'{"kind": "foreign", "modules": 7}\\n{"kind": "end", "exit_code": "x"}\\n')
            def test_b(): pass
        """)
    )
    assert outcomes(run) == {"test_a.py::test_a": "passed", "test_a.py::test_b": "passed"}
