"""The output of `rolecall graph`, as text and as a page."""
