"""RabbitMQ: queues and their dead letters, by the management API."""
