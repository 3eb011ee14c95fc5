"""Lessons from what the developer decided before."""
