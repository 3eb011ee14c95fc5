"""Observed calls as the text of a test file."""
