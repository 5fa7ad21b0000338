"""A real local Kafka cluster, workloads with known behaviour, and faults on demand."""
