"""
Ranking within a query
======================

A search engine does not need an absolute scale of relevance. It must put the pages of *one
query* in the right order. Labels of different queries may not even be comparable, because
one judge is strict and another one is kind. `KronRanker` learns from pairs of edges that
share a start vertex.
"""

# %%
# Queries with strict and kind judges
# -----------------------------------
# Queries and documents have features. The relevance is an interaction of both. In addition,
# each query has a level of its own that does not affect the order of its documents.

import matplotlib.pyplot as plt
import numpy as np
import vectrick as vt

rng = np.random.default_rng(0)
queries, documents = rng.standard_normal((120, 4)), rng.standard_normal((150, 4))
X = vt.Edges.grid(queries, documents)[rng.permutation(120 * 150)[:2000]]
q, d = queries[X.start], documents[X.end]
relevance = (q * d).sum(axis=1) / 2
level = 10.0 * rng.standard_normal(120)
y = relevance + level[X.start] + 0.3 * rng.standard_normal(len(X))
X

# %%
# Three models for the same order
# -------------------------------
# Ridge regression tries to fit the levels, although no feature explains them. So does a
# ranker over all edges. With ``groups="start"``, the loss has only differences within a
# query, so the levels cancel.

linear = vt.Linear()
models = {
    "KronRidge": vt.KronRidge(linear, linear, alpha=1.0),
    "KronRanker, all edges": vt.KronRanker(linear, linear, alpha=1.0),
    "KronRanker, within a query": vt.KronRanker(linear, linear, groups="start", alpha=1.0),
}
cv = vt.VertexKFold(3, 3, new="both", random_state=0)
within = vt.compare(models, X, y, cv=cv, scoring="concordance_per_start", baselines=False)
overall = vt.compare(models, X, y, cv=cv, scoring="concordance", baselines=False)

fig, ax = plt.subplots(figsize=(6.6, 4))
places = np.arange(len(models))
ax.barh(
    places - 0.2,
    within.loc[list(models), "mean"],
    0.38,
    label="within a query",
    color="#2a6fc9",
)
ax.barh(
    places + 0.2,
    overall.loc[list(models), "mean"],
    0.38,
    label="over all edges",
    color="#c9d1d9",
)
ax.axvline(0.5, color="0.4", linestyle=":")
ax.set_yticks(places, list(models))
ax.set(
    xlim=(0.45, 1.0),
    xlabel="concordance index, query and document new",
    title="The right order of the documents",
)
ax.invert_yaxis()
ax.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.3, -0.22), ncols=2)

# %%
# Over all edges, no model can have a good score, because the level of a new query cannot be
# predicted. So the score must match the use of the model:
# ``scoring="concordance_per_start"``.
#
# Rank documents for new queries
# ------------------------------
# `top_k` returns the best documents of two unseen queries. It works in blocks, so a million
# pairs are possible as well.

ranker = models["KronRanker, within a query"].fit(X, y)
best, scores = ranker.top_k(rng.standard_normal((2, 4)), documents, k=5)
for row, values in zip(best, scores, strict=True):
    print(
        "  ".join(
            f"document {name} ({value:.2f})"
            for name, value in zip(row, values, strict=True)
        )
    )
