"""Model calls of a run: budget, prices, estimates."""
