"""One port for WebSocket and HTTP clients."""
