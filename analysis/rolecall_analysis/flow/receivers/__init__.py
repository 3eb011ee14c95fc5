"""Calls on objects of which little is known: overrides, guesses, and which calls are certain."""
