"""Messages between the roles of a run."""
