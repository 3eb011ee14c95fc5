"""Experience: how attempts ended, kept, looked at, shown again at similar tasks, and exported."""
