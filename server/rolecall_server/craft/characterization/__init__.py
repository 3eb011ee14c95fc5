"""Tests without a model: calls are made up, tried in the sandbox, and what is stable and telling is asserted.

`study` turns a module into cases; `write_test_file` turns cases into text. `explore` and `disagreements` tell what
calls do and compare it, also for other purposes (`craft/doubt/`).
"""

from rolecall_server.craft.characterization.behaviour import Cluster, cluster, disagreements
from rolecall_server.craft.characterization.call_trials import Subject
from rolecall_server.craft.characterization.execution import Stage
from rolecall_server.craft.characterization.exploration import Report, explore
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
    "Report",
    "Stage",
    "Study",
    "Subject",
    "cluster",
    "disagreements",
    "explore",
    "read_style",
    "study",
    "write_test_file",
]
