"""What a plugin's tests may import: fakes, stand-ins for other people's servers, and conformance suites."""
