"""
Choosing alpha and the iteration
================================

Two hyperparameters prevent overfitting: the regularization `alpha`, and the number of
iterations (early stopping). Both can be chosen from one Krylov basis: 41 values of alpha
and 100 iterations share the products of one fit, and only their scores take extra time.
"""

# %%
# The data
# --------
# The data are the paper's checkerboard: an edge is positive if the features of its vertices,
# rounded down, have the same parity. A fifth of the labels is flipped, so no model can have
# an AUC above 0.8.

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
# All alphas and iterations
# -------------------------

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
ax.set_title("AUC on unseen vertices")

# %%
# Tiny alphas need early stopping: their curves rise and then fall. With an alpha near 0.02,
# the curve does not fall, and its end is nearly as good as the best score. Much larger
# alphas smooth the checkerboard away. Here is the test score of the best model on a third
# graph:

scorer = vt.get_scorer("auc")
print(f"validation {path.best.best_score:.3f}, test {scorer(path.best_model, *test):.3f}")

# %%
# Early stopping in a fit
# -----------------------
# A single fit can also stop early: it holds out a quarter of the vertices of each side,
# monitors the score, and returns to the best iteration. That leaves 56 % of the edges for
# training, so the score is lower than above. With ``refit=True`` the model is then trained
# again on all edges, for the same number of iterations.

model = vt.KronSVM(
    k, k, alpha=1e-4, inner_iter=20, early_stopping=True, random_state=0
).fit(X, y)
print(model.solution_)
ax = vt.plot.history(model)
ax.set_title("The risk keeps falling, the score peaks")

# %%
# Every alpha in one pass
# -----------------------
# ``solver="one-pass"`` reads the edges once and uses a closed form for every alpha. If edges
# are missing at random, the result is close to the minimum of the objective.

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
