"""The team's documents as files that an editor reads and edits."""
