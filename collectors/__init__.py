"""Reading clusters: one module a source, and the service that polls them."""
