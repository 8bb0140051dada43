"""
Several kernels with learned weights
====================================

Drugs can be compared by structure, by side effects, or by targets, and cells by expression
or by mutations. You need not choose one view: pass all of them (multiple kernel learning).
The weights of pairs of views are learned from the labels, in milliseconds, without a matrix
between edges.
"""

# %%
# Three views of each side
# ------------------------
# The table of a side has the columns of all views. The kernel of a view uses some of them.
# In this simulation, two of the nine pairs of views matter: structure with expression, and
# side effects with mutations. The third view of each side is noise.

import time

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import vectrick as vt

rng = np.random.default_rng(0)
drugs, cells = rng.standard_normal((150, 18)), rng.standard_normal((120, 18))
X = vt.Edges.grid(drugs, cells)[rng.permutation(150 * 120)[:6000]]
d, c = drugs[X.start], cells[X.end]
y = (d[:, :6] * c[:, :6]).sum(axis=1) + 0.7 * (d[:, 6:12] * c[:, 6:12]).sum(axis=1)
y += 3.0 * rng.standard_normal(len(X))


def view(first):
    """Return a linear kernel of six columns."""
    return vt.Function(lambda A, B: A[:, first : first + 6] @ B[:, first : first + 6].T)


names = {
    "drug": ["structure", "side effects", "noise"],
    "cell": ["expression", "mutations", "noise"],
}
views = [view(0), view(6), view(12)]

# %%
# Weights from the labels
# -----------------------
# ``kernel_weights="alignment"`` finds the nonnegative weights for which the centered kernel
# of the edges is most similar to the kernel of the labels, ``y yᵀ``.

train, _, test = vt.vertex_split(X, y, validation_size=0.0, test_size=0.3, random_state=0)
begin = time.perf_counter()
model = vt.KronRidge(views, views, kernel_weights="alignment", alpha=1.0).fit(
    X[train], y[train]
)
print(f"{time.perf_counter() - begin:.2f} s for nine kernels and {len(train)} edges")
weights = np.reshape(model.kernel_weights_, (3, 3))  # a row for each drug kernel

fig, ax = plt.subplots(figsize=(6, 4.4))
image = ax.imshow(weights, cmap="Blues")
for (i, j), weight in np.ndenumerate(weights):
    ax.text(
        j,
        i,
        f"{weight:.3f}",
        ha="center",
        va="center",
        color="w" if weight > weights.max() / 2 else "0.2",
    )
ax.set_xticks(range(3), names["cell"])
ax.set_yticks(range(3), names["drug"])
ax.set(xlabel="view of the cells", ylabel="view of the drugs", title="Learned weights")
ax.spines[:].set_visible(False)

# %%
# Compare with other weights
# --------------------------
# Test edges have a new drug and a new cell. Learned weights are compared with equal weights,
# with one kernel of all columns, and with the best single pair of views.

methods = {
    "learned weights": model,
    "equal weights": vt.KronRidge(views, views, alpha=1.0).fit(X[train], y[train]),
    "one kernel of all columns": vt.KronRidge(alpha=1.0).fit(X[train], y[train]),
    "structure and expression only": vt.KronRidge(view(0), view(0), alpha=1.0).fit(
        X[train], y[train]
    ),
}
scorer = vt.get_scorer("r2")
pd.Series(
    {name: scorer(each, X[test], y[test]) for name, each in methods.items()}, name="R²"
).round(3).to_frame()

# %%
# One kernel of all columns mixes each view of the drugs with each view of the cells: it has
# 324 pairs of columns, but only 12 pairs matter. A sum of products keeps the views separate.
#
# Weights of your own, and other pairwise kernels
# -----------------------------------------------
# You can also pass the weights, as a matrix with a row for each start kernel. ``pairwise``
# accepts a list as well: here interactions, and main effects of both sides.

given = vt.KronRidge(views, views, kernel_weights=[[1, 0, 0], [0, 0.7, 0], [0, 0, 0]]).fit(
    X[train], y[train]
)
mixed = vt.KronRidge(pairwise=[("kronecker", 1.0), ("linear", 0.3)]).fit(X[train], y[train])
print(f"R² with the true weights: {scorer(given, X[test], y[test]):.3f}")
print(mixed.components_)

# %%
# In grid searches, the kernels of a list are numbered: ``start_kernel__0__gamma``. The guide
# :doc:`/guide/pairwise` explains the computation of the alignment, and the kernels that do
# not support it.
