"""Kafka's protocol: connections, requests to many brokers, records."""
