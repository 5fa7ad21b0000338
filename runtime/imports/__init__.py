"""Configurations of other tools, turned into ours."""
