"""Deploys, rebalances, crashes: members come and go."""
