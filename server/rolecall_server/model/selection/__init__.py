"""The choice of a model: its endpoint, what that can do, and rests after failures."""
