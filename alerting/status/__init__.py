"""What a consumer group is doing, decided from its samples: pure functions."""
