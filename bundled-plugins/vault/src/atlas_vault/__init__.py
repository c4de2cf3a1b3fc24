"""Secrets, each one encrypted with age."""
