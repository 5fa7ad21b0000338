"""Nobody consumes any more, on purpose or not."""
