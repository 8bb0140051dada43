"""
A recommender for new users
===========================

A new user signs up, enters her age and job, and should see good films immediately. This is
the cold-start problem of collaborative filtering: matrix factorization cannot score films
for a user without ratings. A Kronecker kernel compares users by their features, and films
by theirs, so every pair of a user and a film has a score.
"""

# %%
# Frames with ids and categories
# ------------------------------
# The ratings on this page are simulated: young people like new films and action films,
# readers like documentaries.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import vectrick as vt

rng = np.random.default_rng(0)
users = pd.DataFrame(
    {
        "user": [f"u{i:03}" for i in range(300)],
        "age": rng.integers(16, 75, 300),
        "job": rng.choice(["nurse", "teacher", "student", "engineer", "retired"], 300),
        "reads": rng.choice(["a lot", "sometimes", "never"], 300),
    }
)
films = pd.DataFrame(
    {
        "film": [f"f{i:02}" for i in range(80)],
        "year": rng.integers(1960, 2026, 80),
        "genre": rng.choice(["action", "drama", "comedy", "documentary"], 80),
        "length": rng.integers(75, 190, 80),
    }
)
ratings = pd.DataFrame(
    {"user": rng.choice(users.user, 9000), "film": rng.choice(films.film, 9000)}
).drop_duplicates()
both = ratings.merge(users, on="user").merge(films, on="film")
taste = (
    3.2
    + 0.9 * np.where(both.genre == "action", (45 - both.age) / 20, 0)
    + 0.9
    * np.where(
        both.genre == "documentary",
        both.reads.map({"a lot": 1, "sometimes": 0, "never": -1}),
        0,
    )
    - 0.5 * (both.year - 1993) / 20 * (both.age - 45) / 20
)
ratings["stars"] = np.clip(np.round(taste + rng.normal(0, 0.7, len(both))), 1, 5).to_numpy()
ratings.head()

# %%
# ``pandas.get_dummies`` converts words to columns of zeros and ones; the command line does
# so automatically. `Standardized` scales the columns to zero mean and unit variance over the
# training vertices. The constant kernel adds main effects of users and films: some films
# are simply good.

user_table = pd.get_dummies(users.set_index("user"), dtype=float)
film_table = pd.get_dummies(films.set_index("film"), dtype=float)
X = vt.Edges.from_frame(
    ratings, start="user", end="film", start_table=user_table, end_table=film_table
)
y = ratings["stars"].to_numpy()
X

# %%
# Evaluate the model on new users
# -------------------------------
# With ``new="start"``, the users of a test fold have no training edges, but the films do.
# The baselines are boosted trees on the same features, and the mean rating of each film, as
# in a list of bestsellers.

kernel = vt.Standardized(vt.Gaussian(gamma=0.05)) + vt.Constant(1.0)
model = vt.KronRidge(kernel, kernel, alpha=10.0, fit_intercept=True)
others = {name: vt.baselines()[name] for name in ("boosted trees", "vertex mean")}
cv = vt.VertexKFold(3, new="start", random_state=0)
scores = vt.compare(
    {"KronRidge": model}, X, y, cv=cv, scoring="concordance_per_start", baselines=others
)
scores.round(3)

# %%

ax = (
    scores["mean"]
    .iloc[::-1]
    .plot.barh(
        figsize=(6.4, 2.6),
        color="#2a6fc9",
        xerr=scores["spread"].iloc[::-1],
        title="Films of a new user, in the right order",
    )
)
ax.axvline(0.5, color="0.5", linestyle=":")
ax.set(xlabel="concordance within a user (0.5 is chance)", xlim=(0.45, 0.85))

# %%
# Films for new users
# -------------------
# A new user is a row with the same columns. Columns are matched by name.

fitted = model.fit(X, y)
arrivals = pd.DataFrame(
    {"age": [19, 68], "job": ["student", "retired"], "reads": ["never", "a lot"]},
    index=["Ada", "Bo"],
)
arrivals = pd.get_dummies(arrivals, dtype=float).reindex(
    columns=user_table.columns, fill_value=0.0
)
shown = fitted.recommend(arrivals, k=3)
shown.merge(films, left_on="end", right_on="film").sort_values(["start", "rank"])[
    ["start", "rank", "score", "genre", "year"]
]

# %%
# For users of the training data, pass their ids. Films that they have rated are left out.

seen = set(ratings.loc[ratings.user == "u007", "film"])
best = fitted.recommend(["u007"], k=5)
assert not seen & set(best["end"])
best

# %%
# Inspect the learned preferences
# -------------------------------
# The figure shows the mean score of each genre against the age of an otherwise average user.

ages = np.arange(16, 75)
people = pd.DataFrame(
    np.tile(user_table.mean().to_numpy(), (len(ages), 1)), columns=user_table.columns
).assign(age=ages)
grid = fitted.predict_grid(people.to_numpy(), film_table.to_numpy())
fig, ax = plt.subplots(figsize=(6.4, 4))
for genre, color in zip(
    sorted(films.genre.unique()), ("#2a6fc9", "#c8641b", "#2b8a5e", "#7d55c7"), strict=True
):
    ax.plot(
        ages,
        grid[:, (films.genre == genre).to_numpy()].mean(axis=1),
        color=color,
        label=genre,
        linewidth=2,
    )
ax.set(xlabel="age of the user", ylabel="predicted stars", title="Taste by age")
ax.legend(frameon=False)
