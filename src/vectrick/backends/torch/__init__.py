"""The torch backend: the array primitives on a GPU, or on the CPU through torch, without loading Numba."""
