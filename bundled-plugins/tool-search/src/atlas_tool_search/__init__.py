"""Find deferred tools and load them."""
