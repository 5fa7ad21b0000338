"""Every table of the lake, defined once."""
