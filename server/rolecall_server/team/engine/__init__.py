"""The run of a team: steps taken as soon as they can be, paused, taken up again."""
