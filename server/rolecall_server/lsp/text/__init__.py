"""Text as an editor has it: open documents, lines and code units."""
