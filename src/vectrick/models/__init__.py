"""Trained functions: their kernel of edges, their form, and their predictions."""
