"""The way the code uses a parameter: its likely type, the classes it may take, and the parts of it that are read."""
