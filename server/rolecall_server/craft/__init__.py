"""The way in which work is done: how a model writes edits, how they are tried, and what it is told when they fail."""
