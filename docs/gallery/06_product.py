"""
One product by hand
===================

This library is based on one operation: the product of a vector with a submatrix of a
Kronecker product, without forming either matrix. This page computes it by hand: first
directly, and then by the method of the library, the generalized vec trick.
"""

# %%
# The problem
# -----------
# There are two kernel matrices: K of the start vertices, and G of the end vertices. Edge h
# joins start vertex ``start[h]`` and end vertex ``end[h]``. The kernel of two edges is the
# product of both kernel values:
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
# Direct computation
# ------------------
# ``np.kron`` computes the whole product with 3000 × 3000 entries. Then the rows and columns
# of the edges are selected.

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
# Write the entries of the vector into a matrix V, at the positions of their edges. Then two
# ordinary matrix products are sufficient:
#
# .. math:: u_h = \left( K V G \right)_{s_h t_h}

V = np.zeros((m, q))
np.add.at(V, (start, end), v)
by_trick = (K @ V @ G)[start, end]
print(f"largest difference: {np.abs(by_trick - by_hand).max():.1e}")

# %%
# The operator
# ------------
# ``vt.kron`` creates a SciPy ``LinearOperator`` for this product. Its indices are the indices
# of the whole product. Rows and columns may be different edges.

op = vt.kron(G, K)[(end, start), (end, start)]
print(f"largest difference: {np.abs(op @ v - by_hand).max():.1e}")
op.plan

# %%
# The plan shows the chosen method and the reason. One method scatters the vector into a
# matrix and computes two matrix products. Another one works edge by edge, and is faster for
# few edges. The planner compares the estimated times.
#
# Time and the number of edges
# ----------------------------
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
# Ridge regression on the edges solves ``(A + alpha I) a = y``. Any solver that accepts an
# operator can be used.

from scipy.sparse.linalg import minres

y = rng.standard_normal(n)
coefficients, info = minres(
    op, y, shift=-1.0, rtol=1e-12
)  # relative to the size of the matrix
residual = op @ coefficients + coefficients - y
print(
    f"residual {np.linalg.norm(residual) / np.linalg.norm(y):.1e} for {n} edges, info {info}"
)
