"""Decisions from an editor, and having it make the edits."""
