"""The polling service: cadence, newest rows, appending, maintenance."""
