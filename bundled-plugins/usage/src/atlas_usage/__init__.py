"""What the model calls cost."""
