"""
On a GPU
========

The same models, solvers and operators compute with torch: ``pip install
'vectrick[torch]'``, and ``backend="torch"``. This page runs wherever torch is installed, on
the CPU if there is no card; the figures at its end were recorded on one H200.
"""

# %%
# One argument
# ------------

from importlib.util import find_spec

import matplotlib.pyplot as plt
import numpy as np
import vectrick as vt

backend = "torch" if find_spec("torch") else "cpu"
X, y = vt.datasets.make_checkerboard(300, random_state=0)
k = vt.Gaussian(gamma=1.0)
model = vt.KronSVM(k, k, alpha=0.1, backend=backend).fit(X, y)
print(backend, model.solution_)

# %%
# ``device`` is "cuda", "cuda:1", "cpu", or "auto" (the default: a card if there is one).
# ``backend="auto"`` takes a GPU where there is one and the CPU otherwise. On the command
# line it is ``vectrick fit DATA --backend torch``, and ``vectrick doctor`` shows and tests
# the card.
#
# The operator
# ------------
# Factors may be tensors, and then results are tensors on the same device.

rng = np.random.default_rng(0)
K, G = rng.random((300, 300)), rng.random((200, 200))
start, end = rng.integers(300, size=5000), rng.integers(200, size=5000)
op = vt.kron(G, K, backend=backend)[(end, start), (end, start)]
assert np.allclose(
    op @ np.ones(5000), vt.kron(G, K)[(end, start), (end, start)] @ np.ones(5000)
)
op.plan

# %%
# What to know
# ------------
# - **Tensors on the device** are taken as they are: ``X.on("cuda")`` puts edges there once.
# - **Precision**: float64, float32 (never TF32 by itself), or ``precision="mixed"``:
#   directions from products of float32, by TF32 on a GPU, corrected with residuals of
#   float64 to the same tolerance.
# - **Memory** is estimated before it is taken. What does not fit is computed in blocks of
#   rows, and kernel matrices that are too large stay on the host. If that does not help,
#   the error names the largest array.
# - **The same seed gives the same bits** on the same card: sums are made in a fixed order.
# - **Models move**: ``model.set_params(backend="cpu", device=None)`` predicts on the CPU,
#   also after ``vt.load``.
#
# Recorded on one H200
# --------------------
# Ten million edges between 6400 × 6400 vertices, read from the file that ``python -m
# benchmarks.gpu`` has written (this part needs a clone of the repository).

from benchmarks.tables import gpu_row, read

training = {
    row["model"]: row
    for row in read("training")["checker_plus"]
    if row["dtype"] == "float64"
}
paper = {"KronRidge": 45_150, "KronSVM": 89_500}
fig, ax = plt.subplots(figsize=(6.6, 4.4))
for place, name in enumerate(("KronRidge", "KronSVM")):
    times = [
        paper[name],
        training[name]["seconds"],
        gpu_row(f"Checker+ {name}, edges on the device")["seconds"],
    ]
    for shift, seconds, color in zip(
        (-0.27, 0, 0.27), times, ("#c9d1d9", "#2a6fc9", "#2b8a5e"), strict=True
    ):
        ax.barh(place + shift, seconds, 0.25, color=color)
        ax.text(
            seconds * 1.15,
            place + shift,
            f"{seconds:,.0f} s" if seconds > 100 else f"{seconds:.2g} s",
            va="center",
        )
ax.set_xscale("log")
ax.set_xlim(0.02, 2e6)
ax.set_yticks([0, 1], ["KronRidge", "KronSVM"])
ax.set(xlabel="seconds of training", title="10 240 000 edges, test AUC 0.796")
ax.legend(
    [plt.Rectangle((0, 0), 1, 1, color=color) for color in ("#c9d1d9", "#2a6fc9", "#2b8a5e")],
    ["the paper", "two CPU cores", "one H200"], frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=3,
)  # fmt: skip

# %%
# All measurements are on the page :doc:`/numbers/gpu`.
