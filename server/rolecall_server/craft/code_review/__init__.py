"""Reviewing code: rules find candidates without a model, a model judges them, a test may show them."""
