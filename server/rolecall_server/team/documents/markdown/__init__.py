"""Documents as Markdown and Mermaid, there and back."""
