"""The facts of files as bytes: packed, kept, and decoded when somebody asks."""
