"""Runs as an editor sees them: progress, questions, the editor's own models."""
