"""One file for each language: what the nodes of its grammar mean."""
