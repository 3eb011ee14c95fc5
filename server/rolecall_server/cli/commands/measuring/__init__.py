"""What models have used, and what the parts of a strategy gain."""
