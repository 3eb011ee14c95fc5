"""The meaning of names: through scopes, imports, exports, classes and their bases."""
