"""What a source is, and what all sources share: HTTP, errors of sections, limits."""
