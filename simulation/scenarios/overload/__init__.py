"""More arrives than is processed, for a while or for good."""
