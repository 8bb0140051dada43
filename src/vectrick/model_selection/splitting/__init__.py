"""Splitters, folds and held-out vertices."""
