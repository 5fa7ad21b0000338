"""One queue simulator: for the backtest, what-ifs, alert scenarios and the demo's history."""
