"""
Choosing alpha and the iteration
================================

Two things keep a model from learning its training edges by heart: the regularization
`alpha`, and stopping early. Both can be chosen from one Krylov basis: 41 values of alpha
and 100 iterations share the products of one fit, and only their scores cost extra.
"""

# %%
# The data
# --------
# The paper's checkerboard: two vertices get a positive edge if their numbers, rounded down,
# have the same parity. A fifth of the labels is flipped, so nobody can have an AUC above
# 0.8.

import time

import matplotlib.pyplot as plt
import numpy as np
import vectrick as vt

X, y = vt.datasets.make_checkerboard(700, random_state=0)
validation = vt.datasets.make_checkerboard(700, random_state=1)  # other vertices
test = vt.datasets.make_checkerboard(700, random_state=2)
k = vt.Gaussian(gamma=1.0)
X

# %%
# The whole plane
# ---------------

begin = time.perf_counter()
ridge = vt.KronRidge(k, k)
path = vt.alpha_path(
    ridge,
    X,
    y,
    2.0 ** np.arange(-20, 21),
    validation,
    iterations=[1, 2, 3, 5, 8, 13, 21, 34, 55, 100],
)
print(f"{time.perf_counter() - begin:.1f} s for 41 alphas and 100 iterations")
path

# %%

ax = vt.plot.path(path)
ax.set_title("AUC on vertices that are new")

# %%
# Tiny alphas need the early stop: their lines rise, and fall again. With an alpha near 0.02
# nothing falls, and the end is nearly as good. Much larger alphas smooth the checkerboard
# away. The best one on a third graph:

scorer = vt.get_scorer("auc")
print(f"validation {path.best.best_score:.3f}, test {scorer(path.best_model, *test):.3f}")

# %%
# Early stopping by itself
# ------------------------
# Without a path, a fit can stop by itself: it holds out a quarter of the vertices of each
# side, watches the score, and goes back to the best iteration. That leaves 56 % of the
# edges to train on, so the score is lower than above; ``refit=True`` trains once more on
# all edges, for as many iterations.

model = vt.KronSVM(
    k, k, alpha=1e-4, inner_iter=20, early_stopping=True, random_state=0
).fit(X, y)
print(model.solution_)
ax = vt.plot.history(model)
ax.set_title("Risk falls, the score has a summit")

# %%
# Every alpha in one reading
# --------------------------
# ``solver="one-pass"`` reads the edges once and has a closed form for every alpha. On a
# graph whose edges are missing as if by chance, that is nearly the minimum itself.

begin = time.perf_counter()
quick = vt.alpha_path(ridge, X, y, 2.0 ** np.arange(-20, 21), validation, solver="one-pass")
print(f"{time.perf_counter() - begin:.1f} s")
fig, ax = plt.subplots(figsize=(6.4, 4))
ax.semilogx(
    path.alphas,
    path.scores,
    color="#2a6fc9",
    label="best iteration of each alpha",
    linewidth=2,
)
ax.semilogx(
    quick.alphas,
    quick.scores,
    color="#c8641b",
    label="one pass over the edges",
    linewidth=2,
)
ax.set(xlabel="alpha", ylabel="AUC on validation edges", title="The path over alpha")
ax.legend(frameon=False)
