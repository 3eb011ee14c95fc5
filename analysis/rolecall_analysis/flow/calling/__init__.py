"""Calls of functions and classes: how arguments reach parameters, and what comes back."""
