"""Proposals as values: hunks, where they lie, evidence, what is stored and how they read."""
