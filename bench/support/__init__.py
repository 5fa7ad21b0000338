"""What benchmarks share: figures, generated samples, brokers, a Spark cluster."""
