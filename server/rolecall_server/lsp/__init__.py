"""The one folder that knows pygls and lsprotocol: an editor's words in, the team's values out, and back."""
