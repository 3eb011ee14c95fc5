"""Running the repository's code: a shadow workspace, a confinement, the workspace's own interpreter, its tests."""
