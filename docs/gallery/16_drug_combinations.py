"""
Drug combinations: vertices that are pairs
==========================================

Two drugs are given together to a cell line. The pair is a vertex, made of two others, and
its kernel is the symmetric product of the kernels of the drugs.
"""

# %%
# Pairs of drugs and cell lines
# -----------------------------
# The data are simulated: a drug has an effect of its own, and two drugs work better together
# if their mechanisms differ.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import vectrick as vt

rng = np.random.default_rng(0)
n_drugs, n_cells = 24, 20
mechanism = rng.standard_normal((n_drugs, 4))
drugs = pd.DataFrame(
    mechanism + 0.1 * rng.standard_normal((n_drugs, 4)), columns=list("abcd")
)
drugs.insert(0, "id", [f"drug {i}" for i in range(n_drugs)])
cells = pd.DataFrame(rng.standard_normal((n_cells, 3)), columns=["x", "y", "z"])
cells.insert(0, "id", [f"cell {i}" for i in range(n_cells)])
first, second = np.triu_indices(n_drugs, 1)
tested = rng.random((len(first), n_cells)) < 0.4
pair, cell = np.nonzero(tested)
own = rng.standard_normal(n_drugs)
together = ((mechanism[first] - mechanism[second]) ** 2)[:, :3] @ np.ones(3) / 4
sensitivity = cells["x"].to_numpy()
synergy = own[first][pair] + own[second][pair] + together[pair] * (1 + sensitivity[cell])
y = synergy + rng.normal(0, 0.5, len(pair))
table = pd.DataFrame(
    {
        "one": drugs["id"].to_numpy()[first[pair]],
        "two": drugs["id"].to_numpy()[second[pair]],
        "cell": cells["id"].to_numpy()[cell],
    }
)
X = vt.Edges.from_frame(
    table, start=["one", "two"], end="cell", start_table=drugs, end_table=cells
)
X.start_table

# %%
# New pairs, or new drugs
# -----------------------
# Two questions are asked of such data. A new pair of known drugs: ``VertexKFold`` holds out
# pairs. A new drug: ``PartKFold`` holds out a drug with all its pairs. The constant gives
# each drug an effect of its own, and the identity learns what the features do not tell
# about known drugs. These include the partners of a new drug.

cell_kernel = vt.Standardized(vt.Gaussian()) + vt.Constant(1.0)
drug = vt.Standardized(vt.Gaussian())
kernels = {
    "features": drug,
    "and a constant": drug + vt.Constant(1.0),
    "and the identity": drug + vt.Constant(1.0) + vt.Identity(),
}
questions = {
    "new pairs": vt.VertexKFold(5, new="start", random_state=0),
    "new drugs": vt.PartKFold(6, random_state=0),
}
scores = pd.DataFrame(index=list(kernels), columns=list(questions), dtype=float)
for name, kernel in kernels.items():
    for question, cv in questions.items():
        model = vt.KronRidge(kernel, cell_kernel)
        scores.loc[name, question] = np.mean(
            [
                np.corrcoef(model.fit(X[train], y[train]).predict(X[test]), y[test])[0, 1]
                for train, test in cv.split(X, y)
            ]
        )
scores.plot.barh(figsize=(6, 3), xlim=(0, 1.3), xlabel="correlation with the synergy")
plt.tight_layout()
scores.round(3)

# %%
# Predict a combination
# ---------------------
# New pairs are made like the training pairs; the order of the drugs does not matter.

model = vt.KronRidge(kernels["and the identity"], cell_kernel).fit(X, y)
pairs = vt.Pairs(["drug 3", "drug 9"], ["drug 7", "drug 1"], drugs)
pd.DataFrame(
    model.predict_grid(pairs, cells)[:, :4], index=pairs.ids, columns=cells["id"][:4]
).round(2)

# %%
# Real combinations, with published folds and numbers, are in the experiment "published" of
# the repository.
