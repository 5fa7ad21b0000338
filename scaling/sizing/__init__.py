"""How many consumers a group needs, and when that becomes advice."""
