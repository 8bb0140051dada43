"""
A lake of edges on a local cluster
==================================

The edges of a recommender are often in a folder of Parquet files, and may be larger than
memory. `vt.scan_edges` creates edges from such a folder without reading them. Models read
them in passes, on one machine or on the workers of a Dask cluster, with bitwise identical
results.
"""

# %%
# A folder of Parquet files
# -------------------------
# The files have six months of ratings with text ids.

import tempfile
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import vectrick as vt

lake = Path(tempfile.mkdtemp()) / "lake"
(lake / "edges").mkdir(parents=True)
rng = np.random.default_rng(0)
users = (
    pd.DataFrame(rng.standard_normal((4000, 12)))
    .add_prefix("x")
    .assign(id=[f"u{i}" for i in range(4000)])
)
items = (
    pd.DataFrame(rng.standard_normal((3000, 12)))
    .add_prefix("z")
    .assign(id=[f"i{i}" for i in range(3000)])
)
U, V = users.drop(columns="id").to_numpy(), items.drop(columns="id").to_numpy()
for month in range(6):
    u, i = rng.integers(0, 4000, 200_000), rng.integers(0, 3000, 200_000)
    stars = 3 + (U[u, :4] * V[i, :4]).sum(axis=1) + rng.standard_normal(200_000)
    frame = pd.DataFrame(
        {"user": users.id.to_numpy()[u], "item": items.id.to_numpy()[i], "stars": stars}
    )
    frame.to_parquet(lake / "edges" / f"month-{month}.parquet")

columns = {"start": "user", "end": "item", "label": "stars"}
X = vt.scan_edges(
    lake / "edges", **columns, start_table=users, end_table=items, partition_edges=200_000
)
X

# %%
# Estimate time and memory
# ------------------------
# ``plan`` reads one partition, makes a pass over it, and extrapolates to the whole fit.

model = vt.KronRidge(alpha=10.0, fit_intercept=True)
model.plan(X)

# %%
# Split, choose, score
# --------------------
# Edges are assigned to a part of the split as they are read. A path over alpha reads the
# lake once.

train, test = X.split(new="both", test_size=0.2, random_state=0)
path = vt.alpha_path(
    vt.KronRidge(fit_intercept=True, random_state=0), train, None, 10.0 ** np.arange(0, 8)
)
begin = time.perf_counter()
model = vt.KronRidge(alpha=path.best.alpha, fit_intercept=True).fit(train)
alone = time.perf_counter() - begin
score = vt.score_lake(model, test, "concordance")
print(f"alpha {path.best.alpha:g}: concordance {float(score):.4f} for new users and items")
print(f"its error, due to histograms of predictions, is below {score.bound:.0e}")
ax = vt.plot.path(path)
ax.set_title("R² on held-out vertices of the lake")

# %%
# The same on a cluster
# ---------------------
# Each worker reads its partitions, keeps them, and returns one small matrix for each
# partition in a pass. Here two workers run inside this process, so that the page runs
# anywhere. On a real cluster, only the address changes: ``Client("tcp://scheduler:8786")``.

from dask.distributed import Client, LocalCluster

with (
    LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None
    ) as cluster,
    Client(cluster),
):
    begin = time.perf_counter()
    spread = vt.KronRidge(alpha=path.best.alpha, fit_intercept=True, backend="dask").fit(
        train
    )
    together = time.perf_counter() - begin
print(f"one process {alone:.1f} s, two workers {together:.1f} s, including reading")
print(f"the same coefficients to the last bit: {bool((spread.coef_ == model.coef_).all())}")

# %%
# Write predictions and rank items
# --------------------------------

unlabeled = vt.scan_edges(
    lake / "edges", start="user", end="item", label=None, start_table=users, end_table=items
)
n_written = model.predict_lake(unlabeled, lake / "predicted")
model.save(lake / "stars.vt")
print(f"{n_written:,} predictions in {len(list((lake / 'predicted').iterdir()))} files")
vt.load(lake / "stars.vt").recommend(["u7"], k=3, exclude_known=False)

# %%
# Where the time goes
# -------------------
# This lake is too small to benefit from a cluster. The first fit reads the files; a second
# fit to the same lake does not. The time of a pass is linear in the number of edges. An edge
# takes eight bytes, or twelve if labels need double precision, as here. The guide
# :doc:`/guide/scale` has the formulas, and measurements with 10⁸ edges.

begin = time.perf_counter()
vt.KronRidge(alpha=1.0, fit_intercept=True).fit(X)
first = time.perf_counter() - begin
begin = time.perf_counter()
vt.KronRidge(alpha=2.0, fit_intercept=True).fit(X)
second = time.perf_counter() - begin

fig, ax = plt.subplots(figsize=(6.4, 2.6))
words = ["first fit, including reading", "second fit"]
ax.barh(words, [first, second], color=["#c8641b", "#2a6fc9"])
for place, seconds in enumerate((first, second)):
    ax.text(seconds, place, f" {seconds:.2f} s", va="center")
ax.invert_yaxis()
ax.set(xlabel="seconds", xlim=(0, 1.2 * first), title="1.2 million edges in Parquet files")
