"""Actions, lenses and hovers on hunks."""
