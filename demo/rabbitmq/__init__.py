"""A real RabbitMQ node, as a service of the demo."""
