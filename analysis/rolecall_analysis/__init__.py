"""The code graph: source text in, plain values out."""
