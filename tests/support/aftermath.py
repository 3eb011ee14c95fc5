"""A workspace before and after something went wrong: what lies in it, what the store says of it, what is left over."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from rolecall_server.cli.files.disk import write_accepted
from rolecall_server.review.proposals.proposal import FileChange, HunkKind, HunkState
from rolecall_server.review.proposals.proposal_store import load_all, load_proposal
from rolecall_server.store import Store, open_store
from rolecall_server.workspace import Workspace
from support.proposals import propose
from support.striking import Ended
from support.workspaces import contents, environment, write_workspace

SHOP = {
    "pyproject.toml": '[project]\nname = "shop"\nversion = "1"\n',
    "shop/__init__.py": "",
    "shop/price.py": 'def total(items):\n    """The sum of the prices."""\n    return sum(items)\n',
    "tests/test_price.py": "from shop.price import total\n\n\ndef test_nothing():\n    assert total([]) == 0\n",
    "old/gone.py": "y = 1\n",
    "here/moved.py": "z = 1\n",
    **{f"many/part{n}.py": f"N = {n}\n" for n in range(12)},
}
CHANGED: Mapping[str, str | None] = {
    "shop/price.py": "def total(items, tax=0):\n    return sum(items) * (1 + tax)\n",
    "old/gone.py": None,
    "there/moved.py": "z = 2\n",
    "new/deep/receipt.py": "TEXT = 'total'\n",
    **{f"many/part{n}.py": f"N = {n}\nTWICE = 2 * N\n" for n in range(12)},
}
ACCEPT = ("review", "p1", "--accept", "all", "--guarded", "--anyway", "--untested")
"""Takes what `Scene.offer` offers."""


@dataclass(frozen=True)
class Scene:
    """A workspace, and a home directory of its own."""

    root: Path
    environ: Mapping[str, str]

    @property
    def store(self) -> Path:
        return Path(self.environ["XDG_DATA_HOME"], "rolecall", "rolecall.db")

    def there(self) -> dict[str, bytes]:
        """Return what lies in the workspace, folders too that nothing is in."""
        empty = (path for path in self.root.rglob("*") if path.is_dir() and not any(path.iterdir()))
        return contents(self.root) | {f"{path.relative_to(self.root).as_posix()}/": b"" for path in empty}

    def offer(self) -> None:
        """Have a proposal wait that changes, makes, deletes and renames files."""
        with closing(open_store(self.store)) as store:
            propose(store, self.root, CHANGED, {"here/moved.py": "there/moved.py"})

    @contextmanager
    def as_it_is(self) -> Iterator[Store]:
        """Yield a copy of the store: to open the one there is would take away what was left beside it."""
        with tempfile.TemporaryDirectory() as beside:
            for path in self.store.parent.glob(f"{self.store.name}*"):
                shutil.copy(path, beside)
            with closing(open_store(Path(beside, self.store.name))) as store:
                yield store

    def decided(self) -> tuple[dict[str, bytes], list[set[HunkState]]]:
        """Return what lies in the workspace if the store is right, and the states that occur in each proposal."""
        texts = {path: text.encode() for path, text in SHOP.items()}
        with self.as_it_is() as store:
            found = load_all(store, self.root)
        for reviewed in found:
            for change in reviewed.proposal.files:
                _bring_in(texts, change, reviewed.accepted)
        return texts, [set(reviewed.states.values()) for reviewed in found]

    def acts(self) -> list[str]:
        """Return what the developer did, as the store has it."""
        with self.as_it_is() as store:
            return [act.kind for act in store.acts(self.root)]

    def litter(self) -> list[str]:
        """Return what is left outside of the workspace that no command keeps."""
        kept = {"rolecall.db", "staging", "scratch"}
        beside = [path.name for path in self.store.parent.glob("*") if path.name not in kept]
        between = [path.name for path in self.store.parent.glob("staging/*")]
        temporary = [path.name for path in Path(self.environ["TMPDIR"]).iterdir()]
        mounts = [line for line in Path("/proc/self/mountinfo").read_text().splitlines() if str(self.root) in line]
        return [*beside, *between, *temporary, *mounts]


def scene_in(folder: Path, base_url: str = "", **places: Path) -> Scene:
    """Return a scene below *folder*; of *places*, ``work``, ``data`` and ``tmp`` may lie elsewhere."""
    environ = environment(folder / "home", base_url)
    environ |= {"XDG_DATA_HOME": str(places.get("data", environ["XDG_DATA_HOME"]))}
    environ |= {"TMPDIR": str(places.get("tmp", environ["TMPDIR"]))}
    for name in ("XDG_DATA_HOME", "TMPDIR"):
        Path(environ[name]).mkdir(parents=True, exist_ok=True)
    return Scene(write_workspace(places.get("work", folder / "work"), dict(SHOP)), environ)


def _bring_in(texts: dict[str, bytes], change: FileChange, accepted: frozenset[str]) -> None:
    """Change *texts* as the *accepted* hunks of a file do; no line of ours places or applies them."""
    hunks = [hunk for hunk in change.hunks if hunk.id in accepted]
    if not hunks:
        return
    texts.pop(change.path, None)
    if any(hunk.kind is HunkKind.DELETE for hunk in hunks):
        return
    lines, at = list[str](), 0
    for hunk in (one for one in hunks if one.kind is HunkKind.TEXT):
        lines += [*change.base_lines[at : hunk.start], *hunk.new_lines]
        at = hunk.end
    lines += change.base_lines[at:]
    is_renamed = any(hunk.kind is HunkKind.RENAME for hunk in hunks)
    texts[change.renamed_to if is_renamed else change.path] = "".join(lines).encode()


def check_what_was_said(
    struck: Ended, then: Ended, before: Mapping[str, bytes], found: Mapping[str, bytes], now: Mapping[str, bytes]
) -> None:
    """Compare each sentence of both commands with the workspace before, after the signal, and after the next."""
    if "othing was written" in struck.said or "Nothing was changed" in struck.said:
        assert found == before == now
    if re.search(r"^(Wrote|Deleted|Took back) ", struck.said, re.MULTILINE):
        assert found == now != before
    for named in re.findall(r"It had changed (.+?) before", struck.said):
        assert all(found.get(path) != before.get(path) for path in named.split(", "))
    if "before it changed a file: nothing was written" in then.said:
        assert found == before == now
    if "All its files were written" in then.said:
        assert found == now
    for named in re.findall(r"in the middle\. (.+?) (?:was|were) missing, and written now", then.said):
        paths = [path for path in now.keys() | before.keys() if now.get(path) != found.get(path)]
        written = [path for path in paths if path in now or "moved" not in path]
        assert "more" in named or {*named.split(", ")} >= {*written}
        assert now != before
    if "taken back" in then.said:
        assert now == before


@dataclass(frozen=True)
class Seen:
    """A scene at one moment."""

    there: Mapping[str, bytes]
    decided: Mapping[str, bytes]
    """What lies in the workspace if the store is right."""
    states: list[set[HunkState]]
    litter: list[str]


def look(scene: Scene) -> Seen:
    """Return what can be seen of *scene* now."""
    return Seen(scene.there(), *scene.decided(), scene.litter())


def fill(disk: Path, free: int) -> None:
    """Leave so many bytes on *disk*, and none where it holds none."""
    status = os.statvfs(disk)
    (disk / "ballast").write_bytes(b"\0" * max(0, status.f_bavail * status.f_frsize - free))


def relieve(disk: Path) -> None:
    """Take away what `fill` put there."""
    (disk / "ballast").unlink()


def ready_for(command: str, folder: Path, places: Mapping[str, Path]) -> Scene:
    """Return a scene with a proposal, which is accepted already where the *command* is to undo it."""
    scene = scene_in(folder, "", **places)
    scene.offer()
    if command == "undo":
        with closing(open_store(scene.store)) as store:
            reviewed = load_proposal(store, "p1")
            write_accepted(store, Workspace(scene.root), reviewed, [*reviewed.states])
    return scene
