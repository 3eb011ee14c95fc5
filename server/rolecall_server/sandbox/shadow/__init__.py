"""The workspace as it would be after a change, as a copy or laid over the disk."""
