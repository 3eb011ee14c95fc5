"""Rolecall's own requests, and ids in the team's documents."""
