"""The checks: what rules can look at, one module for each kind of thing."""
