"""The pages, a folder each: ``page`` draws, ``view_model`` computes."""
