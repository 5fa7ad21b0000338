"""What a monitor sees that begins in the middle: it knows nothing of what was before."""
