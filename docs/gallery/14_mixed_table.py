"""
A table with numbers, words and text
====================================

Users and films come as tables with columns of every kind: ages, countries, dates, plots.
Kernels and scikit-learn transformers on chosen columns turn them into one model, and
`explain` shows which column carried a prediction.
"""

# %%
# The tables
# ----------
# The data are simulated. Users of the two countries like different genres, older users like
# older films, and everybody likes plots with a certain word.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import vectrick as vt
from sklearn.feature_extraction.text import TfidfVectorizer

rng = np.random.default_rng(0)
words = np.array(
    ["sea", "war", "love", "dog", "train", "moon", "city", "night", "river", "snow"]
)
users = pd.DataFrame(
    {
        "id": [f"user {i}" for i in range(80)],
        "age": rng.integers(18, 80, 80),
        "country": rng.choice(["FR", "DE"], 80),
        "member": rng.random(80) < 0.5,
    }
)
plots = [rng.choice(words, 3, replace=False) for _ in range(120)]
films = pd.DataFrame(
    {
        "id": [f"film {i}" for i in range(120)],
        "year": rng.integers(1950, 2024, 120),
        "genre": rng.choice(["drama", "comedy"], 120),
        "plot": ["a story of the " + " and the ".join(three) for three in plots],
    }
)
pairs = rng.random((80, 120)) < 0.25
at, on = np.nonzero(pairs)
fits_taste = (users["country"].to_numpy()[at] == "FR") == (
    films["genre"].to_numpy()[on] == "drama"
)
fits_age = np.abs((2024 - films["year"].to_numpy()[on]) - users["age"].to_numpy()[at]) < 20
has_moon = films["plot"].str.contains("moon").to_numpy()[on]
rating = fits_taste + 1.5 * fits_age + has_moon + rng.normal(0, 0.5, len(at))
edges = pd.DataFrame(
    {"start": users["id"].to_numpy()[at], "end": films["id"].to_numpy()[on]}
)
X = vt.Edges.from_frame(edges, start_table=users, end_table=films)
X.end_table.notes

# %%
# Kernels on columns
# ------------------
# ``vt.On`` binds a kernel, or a transformer, to columns. Words such as the country became
# columns of 0 and 1; the plot stayed text. Transformers and scales are learned in each fold.

scaled = vt.Standardized(vt.Gaussian())
user = vt.On(["age", "country"], scaled) + vt.Constant(0.3)
columns = vt.On(["year", "genre"], scaled)
plot = vt.On("plot", TfidfVectorizer())
kernels = {
    "year and genre": columns + vt.Constant(0.3),
    "plot": plot + vt.Constant(0.3),
    "both": columns + 0.5 * plot + vt.Constant(0.3),
}
cv = vt.VertexKFold(3, 3, new="both", random_state=0)
scores = {}
for name, kernel in kernels.items():
    model = vt.KronRidge(user, kernel)
    scores[name] = [
        np.corrcoef(model.fit(X[train], rating[train]).predict(X[test]), rating[test])[0, 1]
        for train, test in cv.split(X, rating)
    ]
figure, ax = plt.subplots(figsize=(6, 2.4))
ax.barh(list(scores), [np.mean(values) for values in scores.values()], color="#2a9d8f")
ax.set_xlabel("correlation with the ratings of new users and new films")
figure.tight_layout()

# %%
# Which view carried a prediction?
# --------------------------------
# The kernel of edges is a product of sums. Its pairs of summands are views, and their
# contributions add up to the prediction.

model = vt.KronRidge(user, kernels["both"]).fit(X, rating)
model.explain(X[:1], k=5, by="view")

# %%
# New users and films are frames with the same columns; others are left out, and a missing
# one is named.

new_user = pd.DataFrame({"id": ["eve"], "country": ["FR"], "age": [30], "shoe size": [38]})
new_film = pd.DataFrame(
    {"id": ["new"], "plot": ["a story of the moon"], "genre": ["drama"], "year": [1999]}
)
model.predict_grid(new_user, new_film)

# %%
# The default tries the views by itself: ``vt.AutoKron()`` on these tables searches kernels
# of the numbers, of the text, and of their sums.

automatic = vt.AutoKron(new="both", random_state=0).fit(X, rating)
print(automatic)
