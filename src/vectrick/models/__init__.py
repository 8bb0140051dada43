"""Trained functions: their kernel of edges, their form, their predictions, and their files."""
