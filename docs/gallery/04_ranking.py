"""
Ranking within a query
======================

A search engine does not need to know how relevant a page is on some absolute scale. It has
to put the pages of *one query* in the right order. Labels of different queries may not even
be comparable: one judge is strict, another one is kind. `KronRanker` learns from the pairs
of edges that share a start vertex.
"""

# %%
# Queries with strict and kind judges
# -----------------------------------
# A query and a document have features. The relevance is an interaction of both; on top of
# it, each query has a level of its own, which says nothing about the order of its
# documents.

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
# Ridge regression spends its strength on the levels, which no feature explains. A ranker
# over all edges sees them as well. With ``groups="start"`` its loss has only differences
# within a query, and the levels are gone.

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
# Over all edges no model can be good: the level of a new query is not known to anybody.
# That is why the score must ask the same question as the user:
# ``scoring="concordance_per_start"``.
#
# Serve it
# --------
# The best documents of two queries that were never seen, from a million pairs if need be:
# `top_k` works in blocks.

ranker = models["KronRanker, within a query"].fit(X, y)
best, scores = ranker.top_k(rng.standard_normal((2, 4)), documents, k=5)
for row, values in zip(best, scores, strict=True):
    print(
        "  ".join(
            f"document {name} ({value:.2f})"
            for name, value in zip(row, values, strict=True)
        )
    )
