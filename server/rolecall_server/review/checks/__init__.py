"""Checks of a change: breaks in the code graph, and what hunks need of each other."""
