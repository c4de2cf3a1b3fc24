"""Read, write, edit and find files."""
