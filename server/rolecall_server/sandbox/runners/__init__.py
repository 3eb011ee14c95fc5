"""Running tests that are not Python's: Node's test runner, jest, vitest, Go's and Rust's.

Each is a value of the port `Runner`: what is started, and what its report says. Nothing of what comes out is read
from prose, and nothing is ever installed: what is missing is the reason why something was not run.
"""

from rolecall_server.sandbox.runners.choice import is_test_file, runs_tests
from rolecall_server.sandbox.runners.run import run_targets

__all__ = ["is_test_file", "run_targets", "runs_tests"]
