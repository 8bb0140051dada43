"""
Protein interactions: edges without direction
=============================================

Both ends of an interaction are proteins, and (A, B) is the same edge as (B, A). With a
symmetric kernel, predictions for both directions are bitwise identical, and every training
edge counts in both directions.

The data are interactions of yeast proteins (Guo 2008), with counts of amino acid triads as
features.
"""

# %%
# One table
# ---------
# The environment variable ``VECTRICK_DATA`` names a folder with a subfolder for each data
# set. The data are not part of the project. Without an end table, both ends come from one
# vertex set.

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import vectrick as vt

folder = Path(os.environ["VECTRICK_DATA"]) / "ppi_yeast"
proteins = pd.read_csv(folder / "start_features.csv.gz", index_col="id")
table = pd.read_csv(folder / "edges.csv.gz").drop_duplicates(["start", "end"])
X = vt.Edges.from_frame(table, start_table=proteins)
y = table["label"].to_numpy()
X

# %%
# Hold out proteins wherever they appear
# --------------------------------------
# In one vertex set, a held-out vertex is new on both sides. Two thirds of the proteins are
# for training. Test edges are either between two held-out proteins, or between a held-out
# protein and a training protein.

split = vt.vertex_split(X, y, validation_size=0.0, test_size=1 / 3, random_state=0)
train, _, test = split
held = np.zeros(len(proteins), bool)
held[X.start[test]] = held[X.end[test]] = True
one_new = np.flatnonzero(held[X.start] ^ held[X.end])
print(
    f"{len(train)} training edges, {len(test)} with both proteins new, {len(one_new)} with one new protein"
)

# %%
# Symmetric and ordinary kernels
# ------------------------------
# For the ordinary Kronecker kernel, (A, B) and (B, A) are different edges. The kernel
# ``"mlpk"`` learns from differences of proteins.

kernel = vt.Standardized(vt.Gaussian(gamma=0.3 / proteins.shape[1])) + vt.Constant(0.3)
models = {
    name: vt.KronRidge(kernel, pairwise=name, alpha=1.0).fit(X[train], y[train])
    for name in ("kronecker", "symmetric", "mlpk")
}
fig, axes = plt.subplots(2, 1, figsize=(5.6, 10), sharex=True)
for ax, rows, words in zip(
    axes, (one_new, test), ("one protein new", "both proteins new"), strict=True
):
    vt.plot.roc(models, X[rows], y[rows], ax=ax)
    ax.set_title(words.capitalize())

# %%
# If one protein is in the training edges, symmetric kernels are clearly better. If both are
# new, these features have almost no predictive power: all kernels are close to chance. That
# is a property of the data, and a random split of the edges would have hidden it.
#
# The same prediction in both directions
# --------------------------------------

some = vt.Edges(X.start[:5], X.end[:5], proteins)
turned = vt.Edges(X.end[:5], X.start[:5], proteins)
for name, model in models.items():
    difference = np.abs(model.predict(some) - model.predict(turned)).max()
    print(f"{name:10} largest difference between (A, B) and (B, A): {difference:.2g}")

# %%
# The matrix of all predictions among the hundred proteins with the most edges shows groups
# of interacting proteins.

degree = np.bincount(np.concatenate([X.start, X.end]), minlength=len(proteins))
few = np.sort(np.argsort(-degree)[:100])
grid = models["symmetric"].predict_grid(proteins.iloc[few])
assert (grid == grid.T).all()
inside = np.isin(X.start, few) & np.isin(X.end, few)
part = vt.Edges.from_frame(table[inside], start_table=proteins.iloc[few])
ax = vt.plot.matrix(models["symmetric"], part)
ax.set_title("Predictions among 100 proteins")
