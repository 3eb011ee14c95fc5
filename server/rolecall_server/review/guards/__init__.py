"""Guards of a reviewer: guarded paths, and characters that cannot be seen."""
