"""Closed forms: complete graphs, one pass, leave-one-out."""
