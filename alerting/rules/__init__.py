"""Rules and alerts: defaults, files, matchers, the life of an alert, inhibition."""
