"""The Reviewer alone, on what the rules find in code."""
