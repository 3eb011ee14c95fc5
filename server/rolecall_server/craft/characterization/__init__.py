"""Tests without a model: calls are made up, tried in the sandbox, and what is stable and telling is asserted.

`study` turns a module into cases; `write_test_file` turns cases into text. `cluster` and `disagreements` compare what
calls do, also for other purposes.
"""

from rolecall_server.craft.characterization.behaviour import Cluster, cluster, disagreements
from rolecall_server.craft.characterization.call_trials import Subject
from rolecall_server.craft.characterization.execution import Stage
from rolecall_server.craft.characterization.inputs.neighbours import NearbyModule
from rolecall_server.craft.characterization.observation import CandidateCall, Observation
from rolecall_server.craft.characterization.study import Study, study
from rolecall_server.craft.characterization.text.house_style import HouseStyle, read_style
from rolecall_server.craft.characterization.text.test_file import write_test_file

__all__ = [
    "CandidateCall",
    "Cluster",
    "HouseStyle",
    "NearbyModule",
    "Observation",
    "Stage",
    "Study",
    "Subject",
    "cluster",
    "disagreements",
    "read_style",
    "study",
    "write_test_file",
]
