"""Change-only encoding: rows that are left out, and how they come back."""
