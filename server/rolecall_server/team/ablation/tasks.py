"""Tasks that hidden tests decide: a commit of a repository, a brief or failing tests, the tests of the real change."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from rolecall_analysis.programs import run_git
from rolecall_analysis.retrieval.history.committed import commit_of
from rolecall_server.craft.history import name_of
from rolecall_server.errors import RequestRefused
from rolecall_server.team.request import FailureToMend, RoleName, RunRequest, request_for_failure
from rolecall_server.workspace import Workspace, absolute_path


class RepairTask(BaseModel):
    """A change that somebody made, to be made again."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    id: str
    repo: str
    """The folder of its repository, below that of all repositories."""
    parent: str
    """The commit before the change."""
    commit: str
    """The change, whose tests decide."""
    tests: tuple[str, ...]
    """The test files of *commit* that are run."""
    f2p: tuple[str, ...]
    """The tests in them that must pass, and did not before: as pytest names them."""
    brief: str = ""
    """What is wanted, where the tests stay hidden; else the failing tests are shown, and are to be mended."""

    @property
    def command(self) -> str:
        """Return the command whose work it is: ``implement`` or ``fix``."""
        return "implement" if self.brief else "fix"

    @property
    def request(self) -> RunRequest:
        """Return what the Engineer is asked."""
        if self.brief:
            return RunRequest(RoleName.ENGINEER, brief=self.brief)
        return request_for_failure(FailureToMend(tuple(dict.fromkeys(map(name_of, self.f2p)))))


def read_tasks(text: str) -> tuple[RepairTask, ...]:
    """Return the tasks in *text*, a JSON object a line.

    Raises:
        RequestRefused: a line is no task, or two have the same id; the sentence says which.
    """
    tasks: dict[str, RepairTask] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            task = RepairTask.model_validate_json(line)
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"])) or "the line"
            raise RequestRefused(f"Line {number} is no task: {place}: {first['msg']}.", "Mend that line.") from error
        if task.id in tasks:
            raise RequestRefused(f"Line {number} has the id {task.id} of an earlier line.", "Give it another.")
        tasks[task.id] = task
    if not tasks:
        raise RequestRefused("The file holds no task.", "Write one as a JSON object on a line; docs/craft.md has one.")
    return tuple(tasks.values())


def lay_out(task: RepairTask, repositories: Path, root: Path) -> Mapping[str, str | None]:
    """Check out the commit before a change at *root*, with the tests over it where they are shown; return the tests.

    Objects are borrowed from the repository, which stays as it is; no branch leads to the change.

    Raises:
        RequestRefused: there is no such repository, or it lacks a commit.
        FileRefused: a test file would lie outside of the checkout.
    """
    source = _repository(repositories, task.repo)
    root.mkdir(parents=True)
    # Asked of git, for in a linked worktree the objects lie elsewhere.
    objects = (source / run_git(source, "rev-parse", "--git-path", "objects").strip()).resolve()
    run_git(root, "init", "--quiet")
    (root / ".git/objects/info/alternates").write_text(f"{objects}\n", encoding="utf-8")
    parent, commit = commit_of(root, task.parent), commit_of(root, task.commit)
    if not parent or not commit:
        missing = task.commit if parent else task.parent
        raise RequestRefused(f"{task.id}: {source} has no commit {missing}.", "Fetch the whole history.")
    run_git(root, "checkout", "--quiet", "--detach", parent)
    if not run_git(root, "rev-parse", "--verify", "--quiet", "HEAD").strip():
        raise RequestRefused(f"{task.id}: {task.parent} cannot be checked out at {root}.", "Is the disk full?")
    tests = {path: run_git(root, "cat-file", "blob", f"{commit}:{path}") or None for path in task.tests}
    if not task.brief:
        workspace = Workspace(root.resolve())
        for path, text in tests.items():
            file = absolute_path(workspace, path)  # a folder of a stranger's repository may be a link
            file.parent.mkdir(parents=True, exist_ok=True)
            # Without `newline`, Windows would write other line ends than the commit has.
            file.write_text(text or "", encoding="utf-8", newline="")
    return tests


def _repository(repositories: Path, name: str) -> Path:
    """Return the folder of the repository called *name*.

    Raises:
        RequestRefused: there is none.
    """
    found = repositories / name
    if not run_git(found, "rev-parse", "--git-dir").strip():
        raise RequestRefused(f"{found} is no git repository.", "Say with --repositories where they lie.")
    return found
