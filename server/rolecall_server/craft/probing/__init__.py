"""Tests without a model: calls are made up, tried in the sandbox, and what is stable and telling is asserted.

`study` turns a module into cases; `write_test_file` turns cases into text. `cluster` and `disagreements` compare what
calls do, also for other purposes.
"""

from rolecall_server.craft.probing.behaviour import Cluster, cluster, disagreements
from rolecall_server.craft.probing.execution import Stage
from rolecall_server.craft.probing.house_style import HouseStyle, read_style
from rolecall_server.craft.probing.observation import Call, Observation
from rolecall_server.craft.probing.study import Study, study
from rolecall_server.craft.probing.text import write_test_file
from rolecall_server.craft.probing.trying import Subject

__all__ = [
    "Call",
    "Cluster",
    "HouseStyle",
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
