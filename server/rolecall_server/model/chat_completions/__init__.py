"""A model behind an endpoint that speaks OpenAI's Chat Completions."""
