"""Running the repository's code: a shadow workspace, a confinement, the workspace's own interpreter, its tests."""

from rolecall_server.sandbox.interpreter import Interpreter, find_interpreter
from rolecall_server.sandbox.pytest_run import run_tests
from rolecall_server.sandbox.results import FileCoverage, NotRun, TestOutcome, TestRun
from rolecall_server.sandbox.shadow import Shadow, remove_abandoned_shadows, shadow_workspace

__all__ = [
    "FileCoverage",
    "Interpreter",
    "NotRun",
    "Shadow",
    "TestOutcome",
    "TestRun",
    "find_interpreter",
    "remove_abandoned_shadows",
    "run_tests",
    "shadow_workspace",
]
