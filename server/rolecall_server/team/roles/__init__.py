"""One file for each role, with its prompt beside it: what it is shown, what it may change, how its work is tried."""

from rolecall_server.team.roles.engineer import implement
from rolecall_server.team.roles.qa_engineer import write_tests
from rolecall_server.team.roles.qa_survivors import ask_about_survivors

__all__ = ["ask_about_survivors", "implement", "write_tests"]
