"""A real Kafka cluster on this machine."""
