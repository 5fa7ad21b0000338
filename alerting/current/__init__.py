"""The tables of the present: what the newest evaluation found, written and read back."""
