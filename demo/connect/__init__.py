"""A real Kafka Connect worker, as a service of the demo."""
