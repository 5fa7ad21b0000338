"""What Fetch returns: requests for records, batches, headers."""
