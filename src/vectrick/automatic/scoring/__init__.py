"""Scores of candidates on folds."""
