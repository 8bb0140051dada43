"""Fits, plans, predictions and scores for edges of a lake."""
