"""Replies as structures: pydantic models, tool calls, JSON in prose."""
