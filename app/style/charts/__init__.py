"""Figures: pure functions from a frame to a Plotly figure."""
