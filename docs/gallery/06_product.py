"""
One product by hand
===================

Everything in this library rests on one operation: a submatrix of a Kronecker product times
a vector, without forming either. This page does it by hand, first as the textbook has it,
then as the library does.
"""

# %%
# The problem
# -----------
# Two kernel matrices: K of the start vertices, G of the end vertices. An edge joins start
# vertex ``start[h]`` and end vertex ``end[h]``. The kernel of two edges is the product of
# both kernel values:
#
# .. math:: A_{hk} = K_{s_h s_k} \, G_{t_h t_k}

import time

import matplotlib.pyplot as plt
import numpy as np
import vectrick as vt

rng = np.random.default_rng(0)
m, q, n = 60, 50, 800
K, G = (B @ B.T for B in (rng.standard_normal((m, 5)), rng.standard_normal((q, 5))))
start, end = rng.integers(m, size=n), rng.integers(q, size=n)
v = rng.standard_normal(n)

# %%
# As the textbook has it
# ----------------------
# With ``np.kron`` the whole product has 3000 × 3000 entries, and the rows and columns of
# the edges are taken out of it.

whole = np.kron(G, K)
rows = end * m + start
explicit = whole[np.ix_(rows, rows)]
by_hand = explicit @ v
print(
    f"{whole.nbytes / 1e6:.0f} MB for the Kronecker product, {explicit.nbytes / 1e6:.0f} MB for the part that is needed"
)

# %%
# The vec trick
# -------------
# Put the vector into a matrix, at the places of its edges. Then two ordinary matrix
# products do everything:
#
# .. math:: u_h = \left( K V G \right)_{s_h t_h}

V = np.zeros((m, q))
np.add.at(V, (start, end), v)
by_trick = (K @ V @ G)[start, end]
print(f"largest difference: {np.abs(by_trick - by_hand).max():.1e}")

# %%
# The operator
# ------------
# ``vt.kron`` makes an operator of it. Its indices are those of the whole product, rows and
# columns may be different edges, and it is a SciPy ``LinearOperator``.

op = vt.kron(G, K)[(end, start), (end, start)]
print(f"largest difference: {np.abs(op @ v - by_hand).max():.1e}")
op.plan

# %%
# The plan says how it was computed and why. Scattering the vector and two matrix products
# is one way; going edge by edge is another one, which is better for few edges. The planner
# compares the times that it expects.
#
# Where it pays
# -------------
# The explicit matrix grows with the square of the number of edges. The operator does not.

sizes, seconds = (
    [250, 1000, 4000, 16_000, 64_000, 256_000],
    {"explicit matrix": [], "vectrick": []},
)
K, G = (B @ B.T / 5 for B in (rng.standard_normal((800, 5)), rng.standard_normal((600, 5))))
for n in sizes:
    start, end, v = (
        rng.integers(800, size=n),
        rng.integers(600, size=n),
        rng.standard_normal(n),
    )
    op = vt.kron(G, K)[(end, start), (end, start)]
    op @ v
    begin = time.perf_counter()
    op @ v
    seconds["vectrick"].append(time.perf_counter() - begin)
    if n <= 8000:
        begin = time.perf_counter()
        (K[np.ix_(start, start)] * G[np.ix_(end, end)]) @ v
        seconds["explicit matrix"].append(time.perf_counter() - begin)

fig, ax = plt.subplots(figsize=(6.4, 4.2))
for (name, times), color in zip(seconds.items(), ("#8c959f", "#2a6fc9"), strict=True):
    ax.loglog(sizes[: len(times)], times, "o-", color=color, label=name, linewidth=2)
ax.set(
    xlabel="edges",
    ylabel="seconds",
    title="One product of the kernel of edges with a vector",
)
ax.grid(color="0.92")
ax.legend(frameon=False)

# %%
# From here to ridge regression
# -----------------------------
# Ridge regression on the edges solves ``(A + alpha I) a = y``. Any solver that takes an
# operator will do.

from scipy.sparse.linalg import minres

y = rng.standard_normal(n)
coefficients, info = minres(
    op, y, shift=-1.0, rtol=1e-12
)  # relative to the size of the matrix
residual = op @ coefficients + coefficients - y
print(
    f"residual {np.linalg.norm(residual) / np.linalg.norm(y):.1e} for {n} edges, info {info}"
)
