"""One evaluation after the other: statuses and observations of each cluster."""
