"""The command line: the same core without an editor. It is a client, so it asks, and it alone writes."""
