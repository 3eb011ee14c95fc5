"""Files are read by processes that may be killed at any moment, and that never outlive who started them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from rolecall_analysis import Index, Workers, WorkersClosed, definitions_in
from support.patience import PATIENCE_S
from support.trees import write_modules

N_FILES = 400


MakeWorkers = Callable[..., Workers]


@pytest.fixture
def make_workers() -> Iterator[MakeWorkers]:
    """Makes two workers, which may run another program than they should."""
    made: list[Workers] = []

    def make(*program: str, patience_per_file_s: float = 4.0) -> Workers:
        made.append(Workers(2, *map(textwrap.dedent, program), patience_per_file_s=patience_per_file_s))
        return made[-1]

    yield make
    for workers in made:
        workers.close()


@pytest.fixture
def workers(make_workers: MakeWorkers) -> Workers:
    return make_workers()


def until(condition: Callable[[], object], timeout_s: float = PATIENCE_S) -> None:
    end = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.01)


def is_gone(process_id: int) -> bool:
    try:
        return psutil.Process(process_id).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def test_workers_bring_the_facts_that_this_process_would(tmp_path: Path, workers: Workers) -> None:
    write_modules(tmp_path, N_FILES)
    (tmp_path / "liar.py").write_bytes(b"# coding: nonsense\ndef g(): '\xff'\n")
    here, there = Index(tmp_path), Index(tmp_path, workers=workers)
    assert here.scan() == there.scan()
    assert dict(here.snapshot().files) == dict(there.snapshot().files)
    assert len(there.snapshot().files) == N_FILES + 1


def test_a_small_folder_starts_no_process(tmp_path: Path, workers: Workers) -> None:
    index = Index(write_modules(tmp_path, 50), workers=workers)
    started: list[int] = []
    index.scan(lambda n_done, n_files: started.extend(workers.process_ids()))
    assert len(index.snapshot().files) == 50
    assert started == []


def test_progress_counts_up_to_all_files_and_processes_rest_afterwards(tmp_path: Path, workers: Workers) -> None:
    index = Index(write_modules(tmp_path, N_FILES), workers=workers)
    told: list[tuple[int, int]] = []
    seen: set[int] = set()

    def progress(n_done: int, n_files: int) -> None:
        told.append((n_done, n_files))
        seen.update(workers.process_ids())

    index.scan(progress)
    assert [n for n, _ in told] == sorted(n for n, _ in told)
    assert told[-1] == (N_FILES, N_FILES)
    assert seen
    assert all(map(is_gone, seen))


def test_the_snapshot_grows_while_a_scan_goes_on(tmp_path: Path, workers: Workers) -> None:
    index = Index(write_modules(tmp_path, N_FILES), workers=workers)
    sizes: list[int] = []
    index.scan(lambda n_done, n_files: sizes.append(len(index.snapshot().files)))
    assert 0 < sizes[0] < N_FILES
    assert sizes[-1] == N_FILES


def test_killed_workers_are_started_again_and_nothing_is_lost(tmp_path: Path, workers: Workers) -> None:
    index = Index(write_modules(tmp_path, 600, n_lines=60), workers=workers)
    killed: set[int] = set()

    def kill(_n_done: int, _n_files: int) -> None:
        for process_id in workers.process_ids():
            if len(killed) < 4 and process_id not in killed:
                os.kill(process_id, signal.SIGKILL)
                killed.add(process_id)

    assert index.scan(kill) == ()
    assert len(killed) > 2
    files = index.snapshot().files
    assert len(files) == 600
    assert all(files[path].definitions[1].name == "shared" for path in files)


def test_a_file_that_ends_its_reader_is_left_out_until_it_does_not_and_the_rest_is_read(
    tmp_path: Path, make_workers: MakeWorkers
) -> None:
    """The worker's reader is made to end at one file, as a crash of the parser would."""
    write_modules(tmp_path / "root", N_FILES)
    (tmp_path / "crashing").touch()
    crashing = """
        import os, rolecall_analysis.indexing.file_reading as reading
        read_file = reading.read_file
        def crash(root, path, digest=b""):
            if path == "pkg2/m222.py" and root.with_name("crashing").exists():
                os._exit(11)
            return read_file(root, path, digest)
        reading.read_file = crash
        from rolecall_analysis.indexing.worker import main
        main()
    """
    workers = make_workers(crashing)
    index = Index(tmp_path / "root", workers=workers)
    (problem,) = index.scan()
    assert problem.path == "pkg2/m222.py"
    assert "ends the process" in problem.message
    assert len(index.snapshot().files) == N_FILES
    assert definitions_in(index.snapshot(), "pkg2/m223.py")
    (tmp_path / "crashing").unlink()
    assert index.scan() == ()
    assert definitions_in(index.snapshot(), "pkg2/m222.py")


@pytest.mark.parametrize("program", ["import sys; sys.exit(3)", "import os; os.close(1); os.close(0)"])
def test_where_no_process_can_be_started_this_one_reads_and_says_so(
    tmp_path: Path, make_workers: MakeWorkers, program: str
) -> None:
    workers = make_workers(program)
    index = Index(write_modules(tmp_path, N_FILES), workers=workers)
    (problem,) = index.scan()
    assert problem.path == ""
    assert "No process can be started" in problem.message
    assert len(index.snapshot().files) == N_FILES


@pytest.mark.skipif(sys.platform != "linux", reason="limits on processes are those of Linux")
def test_where_the_system_refuses_processes_this_one_reads(tmp_path: Path) -> None:
    program = """
        import resource, sys
        from pathlib import Path
        from rolecall_analysis import Index, Workers
        # Beside those that are open, three are enough to read files, and a process would take four.
        is_open = [Path("/proc/self/fd", str(number)).exists() for number in range(64)]
        limit = [number for number, taken in enumerate(is_open) if not taken][2] + 1
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
        index = Index(Path(sys.argv[1]), workers=Workers(2))
        (problem,) = index.scan()
        print(len(index.snapshot().files), problem.message)
    """
    write_modules(tmp_path, N_FILES)
    told = subprocess.run(
        [sys.executable, "-I", "-c", textwrap.dedent(program), str(tmp_path)],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    assert told.startswith(f"{N_FILES} No process can be started")


def test_a_worker_that_does_not_answer_in_time_is_replaced(tmp_path: Path, make_workers: MakeWorkers) -> None:
    once = tmp_path / "once"
    program = f"""
        import pathlib, time, rolecall_analysis.indexing.worker as worker
        answer, once = worker._answer, pathlib.Path({str(once)!r})
        def hang(request, trees):
            if not once.exists():
                once.touch()
                time.sleep(1000)
            return answer(request, trees)
        worker._answer = hang
        worker.main()
    """
    workers = make_workers(program, patience_per_file_s=0.02)
    index = Index(write_modules(tmp_path / "root", N_FILES), workers=workers)
    assert index.scan() == ()
    assert once.exists()
    assert len(index.snapshot().files) == N_FILES


def test_a_scan_can_be_cancelled_and_forgets_nothing(tmp_path: Path, workers: Workers) -> None:
    index = Index(write_modules(tmp_path, N_FILES), workers=workers)
    index.scan()
    write_modules(tmp_path, N_FILES, "second")
    n_told: list[int] = []
    index.scan(lambda n_done, n_files: n_told.append(n_done), lambda: bool(n_told))
    assert len(n_told) == 1
    assert len(index.snapshot().files) == N_FILES
    index.scan()
    assert all(f.definitions[0].name.startswith("second") for f in index.snapshot().files.values())


def test_closing_ends_the_processes_at_once_and_the_scan_with_them(tmp_path: Path, workers: Workers) -> None:
    index = Index(write_modules(tmp_path, 600, n_lines=60), workers=workers)
    running: list[int] = []
    ended: list[object] = []

    def scan() -> None:
        try:
            index.scan(lambda n_done, n_files: running.extend(workers.process_ids()))
        except WorkersClosed:
            ended.append("closed")

    thread = threading.Thread(target=scan)
    thread.start()
    until(lambda: running)
    workers.close()
    thread.join(PATIENCE_S)
    assert ended == ["closed"]
    assert all(map(is_gone, running))
    with pytest.raises(WorkersClosed):
        index.scan()


def test_workers_do_not_outlive_a_parent_that_is_killed(tmp_path: Path) -> None:
    program = """
        import sys, time
        from pathlib import Path
        from rolecall_analysis import Index, Workers
        workers = Workers(2)
        index = Index(Path(sys.argv[1]), workers=workers)
        index.open_document("large.py", "x = 1\\n" * 20_000)
        def progress(n_done, n_files):
            print(*workers.process_ids(), flush=True)
            time.sleep(0.05)
        index.scan(progress)
    """
    write_modules(tmp_path, 600, n_lines=60)
    parent = subprocess.Popen(
        [sys.executable, "-I", "-c", textwrap.dedent(program), str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    ids = [int(word) for word in parent.stdout.readline().split()]
    assert len(ids) >= 2
    parent.kill()
    parent.wait()
    parent.stdout.close()
    until(lambda: all(map(is_gone, ids)))


def test_a_worker_loads_nothing_of_the_opened_folder_nor_of_who_started_it(
    tmp_path: Path, workers: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    marker = tmp_path / "executed"
    root = write_modules(tmp_path / "root", N_FILES)
    for name in ("rolecall_analysis", "json", "msgspec", "sitecustomize", "tree_sitter"):
        (root / f"{name}.py").write_text(f"open({str(marker)!r}, 'w')")
    monkeypatch.chdir(root)
    monkeypatch.setenv("PYTHONPATH", str(root))
    monkeypatch.syspath_prepend("")
    index = Index(root, workers=workers)
    assert index.scan() == ()
    assert not marker.exists()


def test_large_documents_are_read_by_a_process_that_may_be_killed(tmp_path: Path, workers: Workers) -> None:
    index = Index(tmp_path, workers=workers)
    text = "".join(f"def f{number}(): ...\n" for number in range(10_000))
    index.open_document("large.py", text)
    assert len(definitions_in(index.snapshot(), "large.py")) == 10_000
    (process_id,) = workers.process_ids()
    index.edit_document("large.py", text.replace("f5(", "total("))
    assert definitions_in(index.snapshot(), "large.py")[5].name == "total"
    assert list(index.snapshot().mentioning("total")) == ["large.py"]
    os.kill(process_id, signal.SIGKILL)
    index.edit_document("large.py", text.replace("f6(", "total("))
    assert [d.name for d in definitions_in(index.snapshot(), "large.py")[5:7]] == ["f5", "total"]
    assert workers.process_ids() != (process_id,)


def test_text_with_lone_surrogates_reaches_the_worker(tmp_path: Path, workers: Workers) -> None:
    index = Index(tmp_path, workers=workers)
    text = "def f(): ...  # \ud800\n" * 4_000
    index.open_document("large.py", text)
    here = Index(tmp_path)
    here.open_document("large.py", text)
    assert index.snapshot().files["large.py"] == here.snapshot().files["large.py"]


def test_a_root_whose_name_is_no_text_is_read(tmp_path: Path, workers: Workers) -> None:
    try:
        root = write_modules(tmp_path / os.fsdecode(b"\xff"), N_FILES)
    except OSError:
        pytest.skip("this file system only takes text")
    index = Index(root, workers=workers)
    assert index.scan() == ()
    assert len(index.snapshot().files) == N_FILES
