"""Recorded conversations: written, and answered from."""
