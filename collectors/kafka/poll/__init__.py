"""One poll of a cluster: shared reads, and what is kept between polls."""
