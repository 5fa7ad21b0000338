"""Advice on what consumes and connects: Kafka Connect, Ditto, RabbitMQ and Spark queries."""
