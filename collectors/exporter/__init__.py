"""``/metrics``, ``/healthz`` and ``/readyz`` of the polling service."""
