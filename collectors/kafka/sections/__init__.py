"""The sections of a Kafka cluster's poll, one module each."""
