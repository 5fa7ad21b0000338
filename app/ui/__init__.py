"""Parts that several pages draw: tables, badges, cards, the status bar, the time axis."""
