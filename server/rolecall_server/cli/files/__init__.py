"""Files of the workspace, changed all or none."""
