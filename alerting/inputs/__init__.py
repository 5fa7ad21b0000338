"""What an evaluation looks at: rows of the lake, as windows, facts and frames."""
