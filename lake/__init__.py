"""The data contract: tables, appending, reading and maintenance of the Delta lake."""
