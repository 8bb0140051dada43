"""Kernels that know the vertex table: its columns, its vertices, and the parts of its vertices."""
