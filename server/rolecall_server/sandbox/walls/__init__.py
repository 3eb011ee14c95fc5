"""Processes behind walls: what they may reach, how they are ended, what they tell."""
