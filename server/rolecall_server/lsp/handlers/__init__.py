"""One file for each method of the protocol: guard, from LSP, one call, to LSP."""
