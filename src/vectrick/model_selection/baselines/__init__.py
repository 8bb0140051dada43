"""Baselines for comparison with vectrick's models, and comparisons."""
