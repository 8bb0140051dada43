"""
Zero-shot drug–target prediction from kernel matrices
=====================================================

Which proteins does a new drug bind? And which *new* proteins does it bind? The second
question is the zero-shot setting: the training edges contain neither vertex of the edge.

The data are drugs and G-protein-coupled receptors (Yamanishi 2008): a similarity matrix of
the drugs, one of the receptors, and a label for every pair that shows whether an
interaction is recorded.
"""

# %%
# Three tables
# ------------
# The environment variable ``VECTRICK_DATA`` names a folder with a subfolder for each data
# set, in the layout that ``vectrick fit`` reads. The data are not part of the project.
# Edges refer to vertices by id. A similarity matrix has a row and a column for each vertex,
# both labeled with ids.

import os
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
import vectrick as vt

folder = Path(os.environ["VECTRICK_DATA"]) / "gpcr"
drugs, receptors = (
    pd.read_csv(folder / f"{side}_kernel.csv.gz", index_col="id")
    for side in ("start", "end")
)
drugs = (drugs + drugs.T) / 2  # the similarities of this source are not quite symmetric
table = pd.read_csv(folder / "edges.csv.gz")
X = vt.Edges.from_frame(table, start_table=drugs, end_table=receptors)
y = table["label"].to_numpy()
X

# %%
# Hold out vertices, not edges
# ----------------------------
# A random split of the edges would leave every drug and every receptor in the training set,
# so the score would not apply to new ones. `vertex_split` divides the vertices. Edges
# between a held-out vertex and a training vertex are left out.

split = vt.vertex_split(
    X, y, validation_size=0.0, test_size=0.3, stratify=True, random_state=0
)
train, _, test = split
ax = vt.plot.split(split, X)
print(ax.get_title())
ax.set_title("Drugs × receptors")

# %%
# Automatic model selection
# -------------------------
# `AutoKron` recognizes the similarity matrices. It compares kernels, losses and
# regularization on folds that hold out vertices in the same way, and trains an ensemble of
# the best models.

model = vt.AutoKron(new="both", random_state=0).fit(X[train], y[train])
print(model)

# %%
# How good is it?
# ---------------
# A single ridge regression on the matrices themselves is a good baseline. `Constant` adds
# main effects of vertices: some drugs bind everything.

kernel = vt.Precomputed() + vt.Constant(0.3)
plain = vt.KronRidge(kernel, kernel, alpha=1.0).fit(X[train], y[train])
fig, axes = plt.subplots(2, 1, figsize=(6, 9.4))
vt.plot.roc(
    {"AutoKron": model, "one ridge regression": plain}, X[test], y[test], ax=axes[0]
)
axes[0].set_title("Drug and receptor both new")
vt.plot.history(model, ax=axes[1])
axes[1].set_title("What was tried, on inner folds")

# %%
# The score of one split with few positive edges is uncertain: the inner folds of the search
# gave a higher score than this test. The page :doc:`/numbers/paper` has the mean AUC over
# 45 folds of five divisions.

# %%
# Which pairs to test next
# ------------------------
# A model that is trained on all edges ranks the pairs without a recorded interaction. Here
# are the best three of these receptors for two drugs. Labels are ±1, and nearly all pairs
# have -1, so a score near zero stands out.

positive = y == 1
final = vt.KronRidge(kernel, kernel, alpha=1.0).fit(X, y)
final.recommend(["D00095", "D00283"], k=3, known=table[positive])

# %%
# For a drug that is not in the table, pass its similarities to the drugs of the model.

new_drug = (0.7 * drugs.loc[["D00095"]] + 0.3 * drugs.loc[["D00283"]].to_numpy()).rename(
    index={"D00095": "new"}
)
final.recommend(new_drug, k=3)

# %%
# Explain a prediction
# --------------------
# A prediction is a sum over training edges, so ``explain`` lists the largest contributions.

doubt = final.recommend(["D00095"], k=1, known=table[positive])
pair = vt.Edges.from_frame(doubt, start_table=drugs, end_table=receptors)
final.explain(pair, k=4)[["what", "start", "end", "label", "contribution"]]
