"""What happened, as marks on charts and as lists."""
