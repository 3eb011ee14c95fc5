"""One file for each noun that commands act on; `docs/protocol.md` lists the commands."""
