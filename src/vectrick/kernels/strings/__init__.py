"""Kernels of molecules and sequences."""
