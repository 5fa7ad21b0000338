"""What KEDA's Kafka scalers would do."""
