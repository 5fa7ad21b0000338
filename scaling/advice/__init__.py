"""What a recommendation is, how it is stored, and what became of it."""
