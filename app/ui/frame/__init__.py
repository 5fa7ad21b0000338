"""What stands around every page: log-in, status, and what is said where nothing is known yet."""
