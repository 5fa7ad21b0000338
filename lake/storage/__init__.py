"""Reading and writing tables, through delta-rs and as single files."""
