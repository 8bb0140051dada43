"""
A loss and a kernel of your own
===============================

A few labels are outliers: measurements that are wrong by a large amount, and a squared loss
fits them. A robust loss does not. Your own losses and kernels work like the built-in ones:
with every solver, in dual and primal form, in searches and in model files.
"""

# %%
# Labels with outliers
# --------------------

import matplotlib.pyplot as plt
import numpy as np
import vectrick as vt

rng = np.random.default_rng(0)
X = vt.Edges.grid(
    np.sort(rng.uniform(-3, 3, (60, 1)), axis=0),
    np.sort(rng.uniform(-3, 3, (60, 1)), axis=0),
)
s, t = X.start_table.features[X.start, 0], X.end_table.features[X.end, 0]
truth = np.sin(s) * np.cos(t)
y = truth + 0.1 * rng.standard_normal(len(X))
wild = rng.random(len(X)) < 0.05
y[wild] += rng.choice([-15, 15], wild.sum())
train = rng.random(len(X)) < 0.25

# %%
# A loss
# ------
# A loss of edges has values, slopes and curvatures. Huber's loss is quadratic near zero and
# linear beyond.


class Huber(vt.losses.Pointwise):
    """½ e² for errors up to one, |e| - ½ beyond."""

    name = "huber"

    def values(self, p, y):
        error = np.abs(p - y)
        return np.where(error < 1, 0.5 * error**2, error - 0.5)

    def slopes(self, p, y):
        return np.clip(p - y, -1.0, 1.0)

    def curvatures(self, p, y):
        return np.abs(p - y) < 1


# %%
# A kernel
# --------
# A vertex kernel has a matrix and a diagonal. Its parameters are the parameters of
# ``__init__``, so grid searches can set them.


class Laplacian(vt.kernels.Kernel):
    """exp(-γ ‖x - y‖₁)"""

    name = "laplacian"

    def __init__(self, gamma=1.0):
        self.gamma = gamma

    def _matrix(self, X, Y):
        return np.exp(-self.gamma * np.abs(X[:, None] - Y).sum(axis=2))

    def diagonal(self, X):
        return np.ones(len(X))


# %%
# Use them
# --------
# Pass an object (for losses, the class) instead of a name.

gaussian = vt.Gaussian(gamma=0.5)
models = {
    "squared loss": vt.KronRidge(gaussian, gaussian, alpha=1.0),
    "Huber's loss": vt.KronRidge(gaussian, gaussian, alpha=1.0, loss=Huber),
    "Huber's loss, Laplacian": vt.KronRidge(
        Laplacian(0.5), Laplacian(0.5), alpha=1.0, loss=Huber
    ),
}
fig, axes = plt.subplots(2, 2, figsize=(6.6, 7.4), sharex=True, sharey=True)
axes[0, 0].imshow(truth.reshape(60, 60), cmap="RdBu_r", vmin=-1, vmax=1)
axes[0, 0].set_title("truth")
for ax, (name, model) in zip(axes.flat[1:], models.items(), strict=True):
    grid = model.fit(X[train], y[train]).predict_grid(
        X.start_table.features, X.end_table.features
    )
    error = np.sqrt(np.mean((grid.ravel() - truth) ** 2))
    ax.imshow(grid, cmap="RdBu_r", vmin=-1, vmax=1)
    ax.set_title(f"{name}\nerror {error:.2f}")
for ax in axes.flat:
    ax.set(xticks=[], yticks=[])
fig.supxlabel("end vertices")
fig.supylabel("start vertices")

# %%
# Give them names
# ---------------
# After ``vt.register``, the names work in parameters, on the command line, in searches and in
# model files. A model file stores names but no code, so a process must register the class
# before it loads the file.

vt.register(Laplacian)
vt.register(Huber)
model = vt.KronRidge("laplacian", "laplacian", loss="huber").fit(X[train], y[train])
print(model.solution_)

# %%
# Test them
# ---------
# The package includes contracts for extensions: if your test class inherits from a contract,
# pytest runs its tests on your extension. The page :doc:`/develop/extending` also shows a
# solver, a pairwise kernel and a backend.

from vectrick.testing import LossContract


class TestHuber(LossContract):
    def make(self, y, weight=None):
        return Huber(y, weight)

    def labels(self, rng, n):
        return 3.0 * rng.standard_normal(n)


tests = [name for name in dir(TestHuber) if name.startswith("test_")]
for name in tests:  # as pytest would do
    getattr(TestHuber(), name)()
print(f"{len(tests)} tests passed")
