"""Advice and forecasts, as several pages show them."""
