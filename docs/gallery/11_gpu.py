"""
On a GPU
========

All models, solvers and operators can compute with torch: install it with ``pip install
'vectrick[torch]'``, and set ``backend="torch"``. This page also runs on the CPU, with or
without torch. The measurements at its end were recorded on one H200.
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
# ``device`` is "cuda", "cuda:1", "cpu", or "auto" (the default: a GPU if there is one).
# ``backend="auto"`` uses a GPU if there is one, and otherwise the CPU. On the command line,
# use ``vectrick fit DATA --backend torch``; ``vectrick doctor`` shows and tests the GPU.
#
# The operator
# ------------
# If factors are tensors, results are tensors on the same device.

rng = np.random.default_rng(0)
K, G = rng.random((300, 300)), rng.random((200, 200))
start, end = rng.integers(300, size=5000), rng.integers(200, size=5000)
op = vt.kron(G, K, backend=backend)[(end, start), (end, start)]
assert np.allclose(
    op @ np.ones(5000), vt.kron(G, K)[(end, start), (end, start)] @ np.ones(5000)
)
op.plan

# %%
# Devices, precision and memory
# -----------------------------
# - **Tensors on the device** are used directly: ``X.on("cuda")`` moves edges there once.
# - **Precision** is float64, float32 (never TF32), or ``precision="mixed"``: directions
#   come from products in float32, by TF32 on a GPU, and residuals in float64 correct them to
#   the same tolerance.
# - **Memory** is estimated before it is allocated. Products that do not fit are computed in
#   blocks of rows, and kernel matrices that are too large stay on the host. If memory is
#   still too small, the error names the largest array.
# - **Results are reproducible**: the same seed gives bitwise identical results on the same
#   GPU, because sums are computed in a fixed order.
# - **Models can move**: after ``model.set_params(backend="cpu", device=None)`` a model
#   predicts on the CPU, also after ``vt.load``.
#
# Measurements on one H200
# ------------------------
# The graph has ten million edges between 6400 × 6400 vertices. The figure reads the results
# that ``python -m benchmarks.gpu`` has written (this part needs a clone of the repository).

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
