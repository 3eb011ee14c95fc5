"""The work of a sprint: documents, edits, one change of all edits, its proposal."""
