"""Small faults put into code on purpose, and which of them tests notice."""
