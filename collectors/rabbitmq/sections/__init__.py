"""The sections of a RabbitMQ poll."""
