"""Run commands, in front and in the background."""
