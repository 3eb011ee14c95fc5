"""The names that new code uses of other modules and classes: whether the versions that are installed have them."""
