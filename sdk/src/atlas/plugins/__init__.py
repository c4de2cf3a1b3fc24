"""What a plugin folder's Python may import."""
