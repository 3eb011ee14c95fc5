"""Running the repository's code: a shadow workspace, a confinement, the workspace's own interpreter, its tests."""

from rolecall_server.sandbox.confinement_probe import ConfinementReport, choose_confinement, describe_confinement
from rolecall_server.sandbox.mutation.mutants import Mutant, even_choice, mutants_of
from rolecall_server.sandbox.mutation.mutation_run import MutationRun, run_mutants
from rolecall_server.sandbox.python.interpreter import Capabilities, Interpreter, find_interpreter, probe
from rolecall_server.sandbox.python.pytest_run import run_tests
from rolecall_server.sandbox.python.repetition import Repetition, run_repeatedly
from rolecall_server.sandbox.python.snippet import run_snippet
from rolecall_server.sandbox.results import FileCoverage, Gap, NotRun, Suite, TestResult, TestRun, TestTrace, TraceStep
from rolecall_server.sandbox.runners import is_test_file, run_targets, runs_tests
from rolecall_server.sandbox.shadow.kept_copy import remove_unused_copies
from rolecall_server.sandbox.shadow.opening import shadow_workspace
from rolecall_server.sandbox.shadow.shadow import Shadow
from rolecall_server.sandbox.shadow.trees import remove_abandoned_folders
from rolecall_server.sandbox.walls.confinement import Confinement, Unconfined
from rolecall_server.sandbox.walls.process import ProcessEnd

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
    "TestResult",
    "TestRun",
    "TestTrace",
    "TraceStep",
    "Unconfined",
    "choose_confinement",
    "describe_confinement",
    "even_choice",
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
