"""Which topics hold dead letters, and samples of their headers."""
