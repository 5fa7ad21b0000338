"""What is known of groups, topics and members, from rows of the lake."""
