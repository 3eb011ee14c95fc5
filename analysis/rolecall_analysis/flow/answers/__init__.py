"""Questions to the flow of values, and the calls that were found."""
