"""The code graph kept current: files read by worker processes, facts kept between sessions."""
