"""Links from documents: ids, and the code that they name."""
