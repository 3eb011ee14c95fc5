"""Python's tests: which interpreter runs them, how, and what they report."""
