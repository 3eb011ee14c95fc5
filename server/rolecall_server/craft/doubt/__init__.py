"""Doubt: short solutions of a brief are run, and where they behave differently, the developer is asked which is meant.

Source: ClarifyGPT (Mu et al., FSE 2024), which samples solutions and compares them on inputs made from types. That the
solutions come in one request, and how a question looks, is our own.
"""
