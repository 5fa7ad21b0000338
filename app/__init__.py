"""The dashboard: pages that read the lake, and nothing else."""
