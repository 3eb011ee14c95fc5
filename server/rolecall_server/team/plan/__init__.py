"""The plan of a run: its steps, their order and what they may cost."""
