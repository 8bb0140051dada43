"""Features of kernels: exact, by pivoted Cholesky, or of landmarks."""
