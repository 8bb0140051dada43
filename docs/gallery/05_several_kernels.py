"""
Several kernels at once
=======================

Drugs are known by their structure, cells by their gene expression; both can be compared in
many ways. Which one is right? Give all of them. The weights of the pairs of kernels follow
from the labels, in milliseconds, without a matrix between edges.

The data are responses of cancer cell lines to drugs (GDSC, as prepared by Cichonska et al.
2018).
"""

# %%
# A few views of each side
# ------------------------

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import vectrick as vt

folder = Path(os.environ["VECTRICK_DATA"]) / "gdsc"
drugs, cells = (
    pd.read_csv(folder / f"{side}_kernel.csv.gz", index_col="id")
    for side in ("start", "end")
)
table = pd.read_csv(folder / "edges.csv.gz")
X = vt.Edges.from_frame(table, start_table=drugs, end_table=cells)
y = table["ln_ic50"].to_numpy()

views = {
    "similarity": vt.Precomputed(),
    "narrow": vt.Gaussian(gamma=3.0 / drugs.shape[1]),
    "wide": vt.Gaussian(gamma=0.1 / drugs.shape[1]),
    "constant": vt.Constant(),
}
kernels = list(views.values())

# %%
# Weights from the labels
# -----------------------
# ``kernel_weights="alignment"`` finds nonnegative weights for which the kernel of the edges
# is most similar to that of the labels. The constant stands for effects of one side alone:
# a constant for the drugs and a kernel for the cells is a main effect of the cells.

train, _, test = vt.vertex_split(X, y, validation_size=0.0, test_size=0.25, random_state=0)
model = vt.KronRidge(
    kernels, kernels, kernel_weights="alignment", alpha=1.0, fit_intercept=True
)
model.fit(X[train], y[train])
weights = np.reshape(
    model.kernel_weights_, (len(kernels), len(kernels))
)  # a row for each drug kernel

fig, ax = plt.subplots(figsize=(6, 4.6))
image = ax.imshow(weights, cmap="Blues")
for (i, j), weight in np.ndenumerate(weights):
    ax.text(
        j,
        i,
        f"{weight:.2g}" if weight > 0 else "0",
        ha="center",
        va="center",
        color="0.2" if weight < weights.max() / 2 else "w",
    )
ax.set_xticks(range(len(views)), list(views), rotation=30)
ax.set_yticks(range(len(views)), list(views))
ax.set(xlabel="kernel of the cells", ylabel="kernel of the drugs", title="Learned weights")

# %%
# Does it pay?
# ------------
# Test edges have a new drug and a new cell line, the hardest question. Each single pair of
# kernels is trained in the same way.

scores = {}
for name, kernel in views.items():
    if name != "constant":
        single = vt.KronRidge(
            [kernel, vt.Constant()],
            [kernel, vt.Constant()],
            kernel_weights="alignment",
            alpha=1.0,
            fit_intercept=True,
        )
        scores[name] = vt.get_scorer("concordance")(
            single.fit(X[train], y[train]), X[test], y[test]
        )
scores["all, weights learned"] = vt.get_scorer("concordance")(model, X[test], y[test])
pd.Series(scores, name="concordance").round(3).to_frame()

# %%
# The pairwise kernel can be a sum as well
# ----------------------------------------
# ``pairwise=`` takes a list with weights: here interactions, and main effects of both
# sides.

mixed = vt.KronRidge(
    "precomputed", "precomputed", pairwise=[("kronecker", 1.0), ("linear", 0.3)], alpha=1.0
)
mixed.fit(X[train], y[train])
print(mixed.components_)
