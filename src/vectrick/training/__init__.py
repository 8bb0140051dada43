"""The act of fitting: the problem, the way of a fit, what is watched and checked."""
