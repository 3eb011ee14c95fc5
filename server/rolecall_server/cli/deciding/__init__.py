"""A review in the terminal, hunk by hunk, and a run while it goes on."""
