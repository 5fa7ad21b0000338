"""Groups that are well, in ways that look odd."""
