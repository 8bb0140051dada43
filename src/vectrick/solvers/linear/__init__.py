"""Linear systems: conjugate gradients, MINRES, QMR, direct solves, preconditioning."""
