"""What people run to try rules: replay, rule tests, status reports."""
