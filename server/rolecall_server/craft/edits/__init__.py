"""Edits in a model's reply: read, matched and applied."""
