"""Talk to Atlas in the terminal: a client of the wire, with no hooks of its own."""
