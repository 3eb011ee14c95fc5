"""Ablation: a set of tasks worked on with a strategy, and again without each of its parts, to see what a part gains."""
