"""The Rolecall language server and the team behind it."""

__version__ = "0.1.0"
