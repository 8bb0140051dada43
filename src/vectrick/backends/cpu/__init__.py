"""The CPU backend: vector primitives, blocked kernels and the order of edges that they need."""
