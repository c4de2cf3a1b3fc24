"""A scripted stand-in that answers when there is no model."""
