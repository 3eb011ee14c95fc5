"""The meaning of names and imports in languages other than Python."""
