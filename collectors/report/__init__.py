"""One poll or a check of every source, as JSON or as tables."""
