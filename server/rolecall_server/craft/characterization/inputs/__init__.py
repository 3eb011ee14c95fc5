"""The calls that are made up for a module."""
