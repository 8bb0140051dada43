"""
A recommender for new users
===========================

Somebody signs up, says her age and what she does, and should see good films at once. Matrix
factorisation has nothing to say about her: she has rated nothing. A Kronecker kernel
compares users by what is known about them, and films likewise, so that every user and every
film has a score.
"""

# %%
# Frames with ids and words
# -------------------------
# The ratings of this page are simulated: young people like new and loud films, readers like
# slow ones.

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
# Words become columns of zeros and ones, as pandas makes them; the command line does this
# by itself. `Standardized` scales the columns on the training vertices. The constant gives
# films and users a level of their own: some films are simply good.

user_table = pd.get_dummies(users.set_index("user"), dtype=float)
film_table = pd.get_dummies(films.set_index("film"), dtype=float)
X = vt.Edges.from_frame(
    ratings, start="user", end="film", start_table=user_table, end_table=film_table
)
y = ratings["stars"].to_numpy()
X

# %%
# Judge it on new users
# ---------------------
# ``new="start"``: the users of a test fold have no training edge, the films have. Beside it
# stand boosted trees on the same features, and the mean rating of each film, which is what
# a page of bestsellers shows.

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
# Ten films for somebody new
# --------------------------
# A new user is a row of the same columns. Columns are matched by name.

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
# Known users are named by their ids, and films that they have rated are left out.

seen = set(ratings.loc[ratings.user == "u007", "film"])
best = fitted.recommend(["u007"], k=5)
assert not seen & set(best["end"])
best

# %%
# What it has learned
# -------------------
# The mean score of each genre against the age of a user that is average otherwise.

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
