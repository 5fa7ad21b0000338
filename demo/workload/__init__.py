"""Producers and consumers whose behaviour is known, so that every page can be checked."""
