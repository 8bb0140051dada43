"""Feature maps of kernels: exact, by pivoted Cholesky, or from landmarks."""
