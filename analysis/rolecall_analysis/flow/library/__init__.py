"""The effects of the standard library and of built-in containers on values."""
