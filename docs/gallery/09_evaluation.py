"""
Honest evaluation: the four settings
====================================

An AUC of 0.95 for a pairwise model is meaningless unless it is clear which vertices of the
test edges were new. There are four settings of cross-validation, and a model that is good
in one can be useless in another.
"""

# %%
# The four settings
# -----------------
# Rows are start vertices, columns are end vertices. Orange edges are for testing, blue edges
# for training, and gray edges are left out.

import matplotlib.pyplot as plt
import numpy as np
import vectrick as vt

rng = np.random.default_rng(1)
starts, ends = rng.standard_normal((90, 3)), rng.standard_normal((70, 3))
X = vt.Edges.grid(starts, ends)[rng.permutation(90 * 70)[:2500]]
own = 1.5 * rng.standard_normal(
    90
)  # main effects of start vertices; no feature explains them
signal = (starts[X.start] * ends[X.end]).sum(axis=1) + own[X.start]
y = np.where(signal + rng.standard_normal(len(X)) > 0, 1, -1)

settings = ("both", "start", "end", "neither")
fig, axes = plt.subplots(2, 2, figsize=(6.6, 7))
for ax, new in zip(axes.flat, settings, strict=True):
    vt.plot.split(vt.VertexKFold(3, 3, new=new, random_state=0), X, ax=ax)
    ax.get_legend().remove()
    ax.set_title(f'new="{new}"')

# %%
# Two models in four settings
# ---------------------------
# A narrow kernel distinguishes vertices and memorizes the labels of each. A wide kernel
# generalizes to other vertices. The baseline "vertex mean" uses only the mean labels of the
# vertices.

narrow, wide = (
    vt.Gaussian(gamma=5.0) + vt.Constant(0.3),
    vt.Gaussian(gamma=0.1) + vt.Constant(0.3),
)
methods = {
    "narrow kernel": vt.KronSVM(narrow, narrow),
    "wide kernel": vt.KronSVM(wide, wide),
}
mean = {"vertex mean": vt.baselines()["vertex mean"]}
results = {
    new: vt.compare(
        methods,
        X,
        y,
        cv=vt.VertexKFold(3, 3, new=new, random_state=0),
        scoring="auc",
        baselines=mean,
    )
    for new in settings
}

fig, ax = plt.subplots(figsize=(6.6, 4.4))
for number, (name, color) in enumerate(
    zip([*methods, *mean], ("#c8641b", "#2a6fc9", "#c9d1d9"), strict=True)
):
    places = np.arange(4) + 0.27 * (number - 1)
    heights = [results[new].loc[name, "mean"] for new in settings]
    errors = [results[new].loc[name, "spread"] for new in settings]
    ax.bar(places, heights, 0.25, yerr=errors, color=color, label=name)
ax.axhline(0.5, color="0.4", linestyle=":")
ax.set_xticks(range(4), ["both new", "start new", "end new", "neither new"])
ax.set(ylabel="AUC, mean over folds", ylim=(0.4, 1.0), title="The same data, four settings")
ax.legend(frameon=False, loc="upper left", ncols=3)

# %%
# If the start vertices are in the training edges, the vertex mean looks like a good model.
# For new start vertices it is at chance. A score with ``new="neither"`` does not predict the
# score with ``new="both"``.
#
# Edges of each fold
# ------------------

vt.VertexKFold(3, 3, new="both", random_state=0).report(X, y).head(3)

# %%
# Tuning inside the folds
# -----------------------
# The score of the best of many candidates is optimistic, because it was used for model
# selection. Nested cross-validation selects hyperparameters inside the training edges only.

grid = {
    "start_kernel": [wide, narrow, "linear"],
    "end_kernel": [wide, narrow, "linear"],
    "alpha": [0.1, 1.0, 10.0],
}
ridge = vt.KronRidge(max_iter=30)
search = vt.vertex_search(ridge, X, y, grid, scoring="auc")
nested = vt.nested_score(ridge, X, y, grid, scoring="auc")
print(f"best score on the folds of the selection: {search.score:.3f}")
print(
    f"the same selection, scored on unseen vertices: {nested.mean:.3f} ± {nested.spread:.3f}"
)

# %%
# Does the model learn interactions?
# ----------------------------------
# A model of main effects alone can rank all edges well. ``interaction_concordance`` measures
# interactions: for two start and two end vertices, does the model predict the diagonal with
# the larger sum of labels? Vertex means have 0.5 by construction.

cv = vt.VertexKFold(3, 1, new="neither", random_state=0)
vt.compare(methods, X, y, cv=cv, scoring="interaction_concordance", baselines=mean)[
    ["mean", "spread"]
].round(3)
