"""The data contract: tables, appending, reading and upkeep of the Delta lake."""
