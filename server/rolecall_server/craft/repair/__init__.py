"""Repair: what a failure says of its place, which functions are suspected, and what a repair may not do to a test."""
