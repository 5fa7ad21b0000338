"""Autoscaling rules that the backtest compares: others' as they are published, and ours."""
