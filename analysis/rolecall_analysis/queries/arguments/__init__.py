"""Arguments of calls, and the parameters of what is called."""
