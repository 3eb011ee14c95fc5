"""From the tests that a model wrote to those that are proposed."""
