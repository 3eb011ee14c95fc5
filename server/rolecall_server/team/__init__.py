"""The roles, and their runs: who speaks when."""
