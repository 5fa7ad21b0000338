"""Generated history: what the demo's groups did before it was started."""
