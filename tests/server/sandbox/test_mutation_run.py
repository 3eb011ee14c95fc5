"""Which faults the tests of a workspace notice, behind every kind of walls."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Collection
from pathlib import Path

import iniconfig
import pytest

from rolecall_server.sandbox import (
    Confinement,
    Interpreter,
    MutationRun,
    NotRun,
    Shadow,
    run_mutants,
    run_tests,
    shadow_workspace,
)
from rolecall_server.sandbox.mutation import mutation_run
from rolecall_server.workspace import Workspace
from support.patience import PATIENCE_S

WorkspaceOf = Callable[..., Workspace]


PRICE = """
    #- price.py
    def discount(total):
        if total > 100:
            return total * 2
        return total


    def unused(total):
        return total + 1
"""
THOROUGH = """
    #- test_price.py
    from price import discount
    def test_above(): assert discount(101) == 202
    def test_at(): assert discount(100) == 100
    def test_below(): assert discount(99) == 99
"""
SLOW = """
    #- test_price.py
    import time
    from price import discount
    def test_above():
        time.sleep({pause_s})
        assert discount(101) == 202
"""
LAX = """
    #- test_price.py
    from price import discount
    def test_above(): assert discount(200)
    def test_below(): discount(50)
"""


async def tried(
    workspace: Workspace,
    python: Interpreter,
    confinement: Confinement,
    lines: Collection[int] = range(1, 9),
    *,
    path: str = "price.py",
    timeout_s: float = PATIENCE_S,
    at_most: int = 200,
    by_test: bool = False,
) -> MutationRun:
    async with shadow_workspace(workspace, confinement) as shadow:
        assert isinstance(shadow, Shadow)
        run = await run_mutants(shadow, python, path, lines, timeout_s=timeout_s, at_most=at_most, by_test=by_test)
    assert isinstance(run, MutationRun), str(run)
    return run


async def test_tests_that_check_kill_what_tests_that_only_run_let_live(
    workspace_of: WorkspaceOf, python: Interpreter, confinement: Confinement, root: Path
) -> None:
    thorough = await tried(workspace_of(PRICE + THOROUGH), python, confinement, range(1, 5))
    assert (thorough.survived, thorough.score) == ((), 1.0)
    assert len(thorough.killed) >= 6
    lax = await tried(workspace_of(PRICE + LAX), python, confinement, range(1, 5))
    assert 0 < lax.score < 1
    assert "line 3: '*' became '/'" in map(str, lax.survived)
    assert "def discount" in (root / "price.py").read_text()


async def test_lines_that_no_test_reaches_count_against_the_tests(
    workspace_of: WorkspaceOf, python: Interpreter, confinement: Confinement
) -> None:
    run = await tried(workspace_of(PRICE + THOROUGH), python, confinement, [8])
    assert {mutant.line for mutant in run.unreached} == {8}
    assert (run.killed, run.survived, run.score) == ((), (), 0.0)


async def test_a_table_that_spans_lines_and_a_default_are_reached_by_the_tests_of_their_module(
    workspace_of: WorkspaceOf, python: Interpreter, confinement: Confinement
) -> None:
    text = """
        #- words.py
        WORDS = {
            "one": 1,
            "two": 2,
        }
        def number(
            word="one",
        ):
            return WORDS[
                word
            ]
        #- test_words.py
        from words import number
        def test_number(): assert [number(), number("two")] == [1, 2]
    """
    run = await tried(workspace_of(text), python, confinement, range(1, 11), path="words.py")
    assert (run.survived, run.unreached) == ((), ())
    assert {mutant.line for mutant in run.killed} == {2, 3, 6, 8}


async def test_faults_in_what_pytest_itself_imports_are_noticed(
    workspace_of: WorkspaceOf, python: Interpreter, confinement: Confinement, root: Path
) -> None:
    workspace = workspace_of("""
        #- test_half.py
        from iniconfig import half
        def test_half(): assert half(5) == 2
    """)
    shutil.copytree(Path(iniconfig.__file__).parent, root / "iniconfig")
    library = root / "iniconfig" / "__init__.py"
    before = library.read_text("utf-8")
    library.write_text(f"{before}\n\ndef half(n, by=2):\n    return n // by\n", "utf-8")
    n_lines = before.count("\n") + 4
    lines = range(n_lines - 1, n_lines + 1)
    run = await tried(workspace, python, confinement, lines, path="iniconfig/__init__.py")
    assert (run.survived, run.unreached) == ((), ())
    assert {mutant.line for mutant in run.killed} == set(lines)


async def test_wherever_a_fault_is_seen_first_it_is_noticed(
    workspace_of: WorkspaceOf, python: Interpreter, confinement: Confinement
) -> None:
    text = """
        #- price.py
        def vat(n):
            return n + 1

        def at_import(n):
            return n + 2

        NOW = at_import(1)

        def while_collecting(n):
            return n + 3

        def elsewhere(n):
            return n + 4
        #- late.py
        def lately(n):
            return n + 5
        #- test_price.py
        import subprocess, sys
        import pytest
        import price
        def test_vat(): assert price.vat(1) == 2
        def test_now(): assert price.NOW == price.at_import(1) == 3
        @pytest.mark.parametrize("n", [price.while_collecting(1)])
        def test_collected(n): assert (n, price.while_collecting(2)) == (4, 5)
        def test_elsewhere():
            printed = "import price; print(price.elsewhere(1))"
            assert subprocess.check_output([sys.executable, "-c", printed]).split() == [b"5"]
            assert price.elsewhere(1)
        def test_late():
            from late import lately
            assert lately(1) == 6
    """
    workspace = workspace_of(text)
    for path, lines in (("price.py", range(1, 15)), ("late.py", range(1, 3))):
        run = await tried(workspace, python, confinement, lines, path=path)
        assert (run.survived, run.unreached, run.untried) == ((), (), ())
        assert len(run.killed) >= 2


async def test_what_a_fault_leaves_on_the_disk_is_gone_before_the_next(
    workspace_of: WorkspaceOf, python: Interpreter, confinement: Confinement
) -> None:
    workspace = workspace_of("""
        #- keep.py
        from pathlib import Path
        LIMIT = 3
        def kept(n):
            if n > LIMIT:
                Path("kept/on").mkdir(parents=True)
                Path("kept.txt").write_text("")
            return Path("kept.txt").exists() or Path("kept").exists()
        #- test_keep.py
        from keep import kept
        def test_kept(): assert kept(3) is False
    """)
    run = await tried(workspace, python, confinement, [2, 4], path="keep.py")
    assert {mutant.line for mutant in run.killed} == {2, 4}
    assert "LIMIT = 4" in {mutant.text.splitlines()[1] for mutant in run.survived}


async def test_faults_are_put_into_a_file_that_belongs_to_another_user(
    workspace_of: WorkspaceOf, python: Interpreter, confinement: Confinement, root: Path
) -> None:
    workspace = workspace_of(PRICE + THOROUGH)
    if os.geteuid() == 0:  # nobody else can give a file away
        for location in (root, *root.iterdir()):
            os.chown(location, 1234, 1234)
    run = await tried(workspace, python, confinement, [3])
    assert run.killed
    assert "total * 2" in (root / "price.py").read_text()


async def test_a_mutant_that_never_ends_is_killed_and_the_others_are_tried(
    workspace_of: WorkspaceOf, python: Interpreter, confinement: Confinement, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mutation_run, "_LEAST_TIMEOUT_S", 1.0)
    text = """
        #- count.py
        def count(n):
            total = 0
            while n > 0:
                n -= 1
                total += 1
            return total
        #- test_count.py
        from count import count
        def test_count(): assert count(3) == 3
    """
    run = await tried(workspace_of(text), python, confinement, [4, 6], path="count.py")
    assert "line 4: 'n -= 1' became 'pass'" in map(str, run.killed)
    assert {mutant.line for mutant in run.killed} == {4, 6}


async def test_tests_that_take_long_to_begin_are_given_the_time_for_it(
    workspace_of: WorkspaceOf, python: Interpreter, confinement: Confinement, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mutation_run, "_LEAST_TIMEOUT_S", 0.1)
    slow = THOROUGH.replace("from price", "import time\n    time.sleep(0.4)\n    from price")
    run = await tried(workspace_of(PRICE + slow), python, confinement, [2], at_most=2)
    assert (len(run.killed), run.survived) == (2, ())


async def test_two_that_try_mutants_at_the_same_time_find_what_one_finds(
    workspace_of: WorkspaceOf, python: Interpreter, confinement: Confinement, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = workspace_of(PRICE + LAX)
    runs: list[MutationRun] = []
    for n_drivers in (1, 2):
        monkeypatch.setattr(mutation_run, "_MOST_DRIVERS", n_drivers)
        monkeypatch.setattr(mutation_run, "_LEAST_TO_SHARE", 2)
        monkeypatch.setattr(mutation_run, "cpu_count", lambda: 2)
        runs.append(await tried(workspace, python, confinement, range(1, 5), by_test=True))
    alone, shared = runs
    assert (shared.killed, shared.killers, shared.survived) == (alone.killed, alone.killers, alone.survived)
    assert alone.killed
    assert alone.survived
    assert not shared.untried


async def test_no_more_than_wanted_are_tried_and_the_others_are_told(
    workspace_of: WorkspaceOf, python: Interpreter, confinement: Confinement
) -> None:
    run = await tried(workspace_of(PRICE + THOROUGH), python, confinement, range(1, 5), at_most=3)
    assert len(run.killed) + len(run.survived) == 3
    assert run.untried


async def test_when_time_is_over_what_was_tried_is_told(
    workspace_of: WorkspaceOf, python: Interpreter, confinement: Confinement
) -> None:
    for unhurried in (1, 5, 25, 75):  # on a slow machine the tests alone take as long as all may take
        workspace = workspace_of(PRICE + SLOW.format(pause_s=0.5 * unhurried))
        async with shadow_workspace(workspace, confinement) as shadow:
            assert isinstance(shadow, Shadow)
            run = await run_mutants(shadow, python, "price.py", range(1, 5), timeout_s=3 * unhurried)
            # What was laid over the workspace is still the text as it was.
            after = await run_tests(shadow, python, timeout_s=PATIENCE_S)
        assert [outcome.outcome for outcome in after.outcomes] == ["passed"]
        if isinstance(run, MutationRun):
            break
    assert isinstance(run, MutationRun)
    assert run.untried


async def test_without_tests_that_run_nothing_is_said_of_mutants(
    workspace_of: WorkspaceOf, python: Interpreter, confinement: Confinement
) -> None:
    async with shadow_workspace(workspace_of(PRICE), confinement) as shadow:
        assert isinstance(shadow, Shadow)
        run = await run_mutants(shadow, python, "price.py", range(1, 9), timeout_s=PATIENCE_S)
    assert isinstance(run, NotRun)
    assert run.reason


async def test_tests_that_fail_anyway_kill_nothing(
    workspace_of: WorkspaceOf, python: Interpreter, confinement: Confinement
) -> None:
    text = PRICE + "    #- test_price.py\n    from price import discount\n    def test_a(): assert discount(1) == 2\n"
    run = await tried(workspace_of(text), python, confinement, range(1, 5))
    assert run.killed == ()
    assert run.unreached


@pytest.mark.parametrize(
    "settings", ["addopts = --nonexistent", "addopts = --strict-config\n    nonexistent = 1"], ids=["option", "setting"]
)
async def test_mutants_are_tried_without_what_keeps_pytest_from_beginning(
    workspace_of: WorkspaceOf, python: Interpreter, confinement: Confinement, settings: str
) -> None:
    workspace = workspace_of(f"    #- pytest.ini\n    [pytest]\n    {settings}\n{PRICE}{THOROUGH}")
    assert (await tried(workspace, python, confinement, range(1, 5))).score == 1


@pytest.mark.parametrize("change", ["return total * 3", "return total  # nothing"])
async def test_mutants_are_made_of_the_proposal_and_not_of_the_disk(
    workspace_of: WorkspaceOf, python: Interpreter, confinement: Confinement, root: Path, change: str
) -> None:
    workspace = workspace_of(
        PRICE + "    #- test_price.py\n    from price import discount\n    def test_a(): discount(200)\n"
    )
    proposed = (root / "price.py").read_text().replace("return total * 2", change)
    async with shadow_workspace(workspace, confinement) as shadow:
        assert isinstance(shadow, Shadow)
        shadow.write({"price.py": proposed})
        run = await run_mutants(shadow, python, "price.py", [3], timeout_s=PATIENCE_S)
    assert isinstance(run, MutationRun)
    assert all(change[:8] in mutant.text for mutant in run.survived if mutant.operator != "return value")
    assert any(mutant.was == "3" for mutant in run.survived) == ("3" in change)
