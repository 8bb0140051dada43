"""
Several views of molecules, and your own embeddings
===================================================

A molecule has many descriptions: fingerprints, properties, an embedding from somebody's
network. Sums of kernels put them side by side. This page needs ``pip install
'vectrick[molecules]'``.
"""

# %%
# Views are tables joined by ids
# ------------------------------
# Alcohols and amines of different lengths stand for a library. Their activity is simulated:
# it depends on the group at the end, on the length, and on something that only the
# "embedding" knows.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import vectrick as vt

rng = np.random.default_rng(0)
ends = ["O", "N", "C(=O)O", "C(=O)N", "c1ccccc1", "C#N"]
smiles = [f"{'C' * length}{end}" for length in range(2, 14) for end in ends]
names = [f"drug {i}" for i in range(len(smiles))]
hidden = rng.standard_normal(len(smiles))
drugs = pd.DataFrame({"id": names, "smiles": smiles})
embeddings = pd.DataFrame(
    {
        "id": names,
        "net": [[h, rng.standard_normal(), rng.standard_normal()] for h in hidden],
    }
)
targets = pd.DataFrame(
    {"id": [f"target {j}" for j in range(15)], "pocket": rng.standard_normal(15)}
)
grid = pd.MultiIndex.from_product([names, targets["id"]], names=["start", "end"]).to_frame(
    False
)
X = vt.Edges.from_frame(grid, start_table=[drugs, embeddings], end_table=targets)
group = np.tile(np.arange(len(ends)), len(smiles) // len(ends))
pocket = targets["pocket"].to_numpy()
y = (
    (group[X.start] % 3 - 1) * pocket[X.end]
    + 0.7 * hidden[X.start]
    + rng.normal(0, 0.3, len(X))
)
X.start_table

# %%
# One view, or several
# --------------------
# Each view is a kernel on a column. The features of molecules are computed once.

views = {
    "Morgan": vt.On("smiles", vt.Morgan()),
    "paths": vt.On("smiles", vt.Molecule("path")),
    "descriptors": vt.On("smiles", vt.Molecule("descriptors")),
    "embedding": vt.On("net", vt.Standardized(vt.Gaussian())),
}
views["all"] = views["paths"] + views["descriptors"] + 2.0 * views["embedding"]
cv = vt.VertexKFold(4, new="start", random_state=0)
scores = {}
for name, view in views.items():
    model = vt.KronRidge(view + vt.Constant(0.3), vt.Linear() + vt.Constant(0.3), alpha=0.3)
    scores[name] = [
        np.corrcoef(model.fit(X[train], y[train]).predict(X[test]), y[test])[0, 1]
        for train, test in cv.split(X, y)
    ]
figure, ax = plt.subplots(figsize=(6, 2.6))
ax.barh(list(scores), [np.mean(values) for values in scores.values()], color="#2a9d8f")
ax.set_xlabel("correlation for new molecules")
figure.tight_layout()

# %%
# The search finds such sums
# --------------------------
# ``vt.AutoKron`` scores every view, and then sums of the best two or three.

model = vt.AutoKron(new="start", random_state=0).fit(X, y)
model.search_[["start_kernel", "end_kernel", "score"]].head(3)
