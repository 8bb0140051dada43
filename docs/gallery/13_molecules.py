"""
Molecules and proteins, as they are
===================================

SMILES strings and sequences are vertices like others. No fingerprint, no alignment, no
feature table has to be made first: ``pip install 'vectrick[molecules]'``.

The data are affinities of kinase inhibitors (KIBA, Tang 2014), of which this page takes a
part.
"""

# %%
# Strings are tables
# ------------------
# ``VECTRICK_DATA`` names a folder with a folder for each data set; the data are not part of
# the project. A column of strings with ids as its index is a vertex table.

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
# Morgan fingerprints are compared by Tanimoto's coefficient, sequences by local alignments.
# Alignments are remembered on disk, so the second run is quick.

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
# Honest splits
# -------------
# A held-out molecule often has a near copy among the training molecules. `ClusterKFold`
# keeps similar ones in one part.

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
# The same on the command line: ``vectrick fit --edges affinities.csv --start-smiles
# drugs.smi --end-sequences targets.fasta``, then ``vectrick rank model.vt --start-smiles
# "CC(=O)Oc1ccccc1C(=O)O"``. :doc:`/guide/molecules` has bounds of measurements, clusters,
# and published networks beside it.
