"""What pages read: the lake, the alert store, the viewer's choices."""
