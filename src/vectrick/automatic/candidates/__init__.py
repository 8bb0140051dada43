"""The kernels that a search tries."""
