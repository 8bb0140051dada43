"""
Molecules and proteins from SMILES and sequences
================================================

Vertices can be SMILES strings and protein sequences. You need not compute fingerprints,
alignments or feature tables first; install the extra with ``pip install
'vectrick[molecules]'``.

The data are affinities of kinase inhibitors (KIBA, Tang 2014). This page uses a subset.
"""

# %%
# Strings are tables
# ------------------
# The environment variable ``VECTRICK_DATA`` names a folder with a subfolder for each data
# set. The data are not part of the project. A column of strings with ids as its index is a
# vertex table.

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import vectrick as vt

folder = Path(os.environ["VECTRICK_DATA"]) / "kiba"
drugs = pd.read_csv(folder / "start_vertices.csv.gz", index_col="id")["smiles"]
targets = pd.read_csv(folder / "end_vertices.csv.gz", index_col="id")["sequence"]
table = pd.read_csv(folder / "edges.csv.gz")
keep = np.random.default_rng(0).permutation(len(drugs))[:700]
table = table[table["start"].isin(drugs.index[keep])]
X = vt.Edges.from_frame(table, start_table=drugs.iloc[keep], end_table=targets)
y = table["kiba_score"].to_numpy()
X

# %%
# Kernels of strings
# ------------------
# Morgan fingerprints with counts are compared by `MinMax`, the Tanimoto coefficient of
# counts, and sequences by local alignments. Alignments are cached on disk, so a second run
# is fast.

drug_kernel = vt.Morgan(radius=3, counts=True) + vt.Constant(0.3)
target_kernel = vt.SmithWaterman() + vt.Constant(0.3)
model = vt.KronRidge(drug_kernel, target_kernel, alpha=0.3, fit_intercept=True)

# %%
# New drugs, new targets, both
# ----------------------------

scores = {}
for new in ("both", "start", "end", "neither"):
    cv = vt.VertexKFold(
        3, 3 if new == "both" else 1 if new == "neither" else None, new=new, random_state=0
    )
    folds = list(cv.split(X, y))[:3]
    scorer = vt.get_scorer("concordance")
    scores[new] = [
        scorer(model.fit(X[train], y[train]), X[test], y[test]) for train, test in folds
    ]
words = {
    "both": "both new",
    "start": "drug new",
    "end": "target new",
    "neither": "both known",
}
fig, ax = plt.subplots(figsize=(6.4, 3.4))
ax.bar(
    list(words.values()),
    [np.mean(scores[new]) for new in words],
    yerr=[np.std(scores[new]) for new in words],
    color="#2a6fc9",
)
ax.axhline(0.5, color="0.4", linestyle=":")
ax.set(ylabel="concordance index", ylim=(0.45, 0.9), title="KIBA, from strings alone")

# %%
# Splits by clusters of similar molecules
# ---------------------------------------
# A held-out molecule is often very similar to a training molecule. `ClusterKFold` keeps
# similar molecules in the same part.

cv = vt.ClusterKFold(3, new="start", threshold=0.6, random_state=0)
apart = [
    scorer(model.fit(X[train], y[train]), X[test], y[test])
    for train, test in cv.split(X, y)
]
print(
    f"new drugs {np.mean(scores['start']):.3f}, new clusters of drugs {np.mean(apart):.3f}"
)

# %%
# Rank the kinases for a new molecule
# -----------------------------------

model.fit(X, y)
imatinib = "Cc1ccc(NC(=O)c2ccc(CN3CCN(C)CC3)cc2)cc1Nc1nccc(-c2cccnc2)n1"
model.recommend(pd.DataFrame({"smiles": [imatinib]}, index=["imatinib"]), k=5)

# %%
# On the command line, use ``vectrick fit --edges affinities.csv --start-smiles drugs.smi
# --end-sequences targets.fasta``, then ``vectrick rank model.vt --start-smiles
# "CC(=O)Oc1ccccc1C(=O)O"``. The guide :doc:`/guide/molecules` describes bounds of
# measurements and clusters, and compares vectrick with published networks.
