"""
Uncertainty and active learning
===============================

A screen has millions of candidate pairs, but wells for only a few hundred. A model should
quantify its uncertainty, give intervals with the nominal coverage, and choose the next
plate.
"""

# %%
# A first plate
# -------------
# The response is a smooth function of one property of the drug and one of the cell. The
# first plate has 120 measured pairs, most of them in the corner that was easy to measure.

import matplotlib.pyplot as plt
import numpy as np
import vectrick as vt

rng = np.random.default_rng(0)
drugs, cells = np.linspace(0, 1, 60)[:, None], np.linspace(0, 1, 50)[:, None]
grid = vt.Edges.grid(drugs, cells)
d, c = drugs[grid.start, 0], cells[grid.end, 0]
truth = np.sin(5 * d) * np.cos(4 * c) + d
y = truth + 0.1 * rng.standard_normal(len(grid))
easy = np.exp(-6 * (d + c))
first = rng.choice(len(grid), 120, replace=False, p=easy / easy.sum())

# %%
# Standard deviations
# -------------------
# Ridge regression is the mean of a Gaussian process, so it also has the posterior standard
# deviations.

kernel = vt.Gaussian(gamma=8.0)
model = vt.KronRidge(kernel, kernel, alpha=0.02).fit(grid[first], y[first])
mean, std = model.predict(grid, return_std=True)


def board(ax, values, title, **style):
    image = ax.imshow(
        values.reshape(60, 50), origin="lower", aspect="auto", extent=(0, 1, 0, 1), **style
    )
    ax.figure.colorbar(image, ax=ax)
    ax.set(title=title, xlabel="property of the cell", ylabel="property of the drug")


fig, axes = plt.subplots(3, 1, figsize=(5.4, 11.5))
board(axes[0], truth, "the truth", cmap="viridis", vmin=-1, vmax=2)
board(axes[1], mean, "predicted", cmap="viridis", vmin=-1, vmax=2)
board(axes[2], std, "standard deviation", cmap="magma")
axes[1].plot(c[first], d[first], ".", color="w", markersize=4)

# %%
# The next plate
# --------------
# ``vt.suggest`` chooses a batch. It chooses each edge as if the edges before it were already
# measured, to avoid redundant measurements. Here a drug gets at most three wells. A random
# plate is good as well, since it is spread over the whole board, but the chosen plate is
# better.

pool = np.setdiff1d(np.arange(len(grid)), first)
plate = vt.suggest(model, grid[pool], n=48, per_start=3, random_state=0)["row"].to_numpy()
chosen, random = pool[plate], rng.choice(pool, 48, replace=False)


def after(rows):
    known = np.concatenate([first, rows])
    better = vt.KronRidge(kernel, kernel, alpha=0.02).fit(grid[known], y[known])
    return better, float(np.sqrt(np.mean((better.predict(grid) - truth) ** 2)))


(updated, error), (_, by_chance) = after(chosen), after(random)
before = np.sqrt(np.mean((mean - truth) ** 2))
print(
    f"error before {before:.3f}, after the plate {error:.3f}, after a random one {by_chance:.3f}"
)
fig, axes = plt.subplots(2, 1, figsize=(5.4, 8))
board(axes[0], std, "suggested edges", cmap="magma")
axes[0].plot(c[chosen], d[chosen], "o", color="#5cc596", markersize=5)
board(
    axes[1],
    updated.predict(grid, return_std=True)[1],
    "standard deviation after it",
    cmap="magma",
    vmax=std.max(),
)

# %%
# Conformal intervals
# -------------------
# Standard deviations assume that the model is correct. `ConformalKron` does not: it holds
# out vertices or edges according to ``new``, and computes intervals from the errors on them.

known = np.concatenate([first, chosen])
test = np.setdiff1d(np.arange(len(grid)), known)
conformal = vt.ConformalKron(
    vt.KronRidge(kernel, kernel, alpha=0.02), new="neither", coverage=0.9, random_state=0
)
lower, upper = conformal.fit(grid[known], y[known]).predict_interval(grid[test])
inside = (lower <= y[test]) & (y[test] <= upper)
print(
    f"{inside.mean():.1%} of the labels are in their 90 % intervals; the mean width is {np.mean(upper - lower):.2f}"
)

# %%
# Explain a prediction
# --------------------
# This is the pair with the largest standard deviation, and the training edges that
# contribute most to its prediction:

left = updated.predict(grid, return_std=True)[1]
doubtful = grid[[int(np.argmax(left))]]
updated.explain(doubtful, k=4, by="edge")[
    ["what", "start", "end", "label", "contribution"]
].round(3)

# %%
# The guide :doc:`/guide/trust` has results on real data: the coverage in the four settings,
# and the number of labels that active learning saves.
