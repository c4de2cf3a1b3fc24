"""The documentation of this Atlas, on your machine: pages in the wheel, and the command that shows them."""
