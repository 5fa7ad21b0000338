"""Eclipse Ditto's connections. Reads only."""
