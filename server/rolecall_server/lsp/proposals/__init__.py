"""Proposals as an editor shows them."""
