"""Proposals: what a role wants to change, what was checked, and what the developer decides hunk by hunk."""
