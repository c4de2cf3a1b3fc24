"""The documentation, on your machine."""
