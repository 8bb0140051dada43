"""Loops compiled by Numba."""
