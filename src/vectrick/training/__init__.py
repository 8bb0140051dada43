"""Training: checks of the input, the choice of a method, monitoring, and the fits."""
