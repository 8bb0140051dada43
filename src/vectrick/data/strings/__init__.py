"""Vertices that are strings: molecules and sequences."""
