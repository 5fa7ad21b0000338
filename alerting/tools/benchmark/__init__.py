"""The benchmark of alerts against the rules in wide use."""
