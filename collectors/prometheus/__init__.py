"""Prometheus, or a server that speaks its API, as a source of broker metrics."""
