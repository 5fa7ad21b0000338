"""When offsets were reached: the ground for lag in seconds."""
