"""Commands about experience: to list, show and forget it, and to export it."""
