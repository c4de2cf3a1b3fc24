"""What a plugin of Atlas may import."""
