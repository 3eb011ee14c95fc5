"""How long a test waits for something that happens sooner or later."""

PATIENCE_S = 240.0
"""Enough for a slow machine that does other work besides; no test waits this long when all is well."""
