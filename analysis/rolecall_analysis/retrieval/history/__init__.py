"""The repository's past commits, as evidence for a ranking."""
