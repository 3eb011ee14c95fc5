"""The worth of tests, judged by their text and their runs."""
