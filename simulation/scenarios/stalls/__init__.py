"""Members are there, and some or all partitions stand still."""
