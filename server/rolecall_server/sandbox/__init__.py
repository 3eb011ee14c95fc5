"""Running the repository's code: a shadow workspace, a confinement, the workspace's own interpreter, its tests."""

from rolecall_server.sandbox.canary import ConfinementReport, choose_confinement, describe_confinement
from rolecall_server.sandbox.confinement import Confinement, Unconfined
from rolecall_server.sandbox.interpreter import Capabilities, Interpreter, find_interpreter, probe
from rolecall_server.sandbox.kept_copy import remove_unused_copies
from rolecall_server.sandbox.mutants import Mutant, mutants_of
from rolecall_server.sandbox.mutation_run import MutationRun, run_mutants
from rolecall_server.sandbox.opening import shadow_workspace
from rolecall_server.sandbox.process import ProcessEnd
from rolecall_server.sandbox.pytest_run import run_tests
from rolecall_server.sandbox.repetition import Repetition, run_repeatedly
from rolecall_server.sandbox.results import FileCoverage, Gap, NotRun, Suite, TestOutcome, TestRun
from rolecall_server.sandbox.runners import is_test_file, run_targets, runs_tests
from rolecall_server.sandbox.shadow import Shadow
from rolecall_server.sandbox.snippet import run_snippet
from rolecall_server.sandbox.trees import remove_abandoned_folders

__all__ = [
    "Capabilities",
    "Confinement",
    "ConfinementReport",
    "FileCoverage",
    "Gap",
    "Interpreter",
    "Mutant",
    "MutationRun",
    "NotRun",
    "ProcessEnd",
    "Repetition",
    "Shadow",
    "Suite",
    "TestOutcome",
    "TestRun",
    "Unconfined",
    "choose_confinement",
    "describe_confinement",
    "find_interpreter",
    "is_test_file",
    "mutants_of",
    "probe",
    "remove_abandoned_folders",
    "remove_unused_copies",
    "run_mutants",
    "run_repeatedly",
    "run_snippet",
    "run_targets",
    "run_tests",
    "runs_tests",
    "shadow_workspace",
]
