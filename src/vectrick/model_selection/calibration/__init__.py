"""Calibrated probabilities and conformal intervals from folds."""
