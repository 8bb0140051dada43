"""Random problems against a dense solution: every kernel matrix between edges is formed, and every system solved."""

import os

import numpy as np
from scipy.sparse import csr_array

import vectrick as vt

PAIRWISE = {
    "kronecker": lambda k, g, same_start, same_end: k * g,
    "linear": lambda k, g, same_start, same_end: k + g,
    "poly2d": lambda k, g, same_start, same_end: (k + g) ** 2,
    "cartesian": lambda k, g, same_start, same_end: k * same_end + g * same_start,
}


def kernel(rng):
    """Return a random vertex kernel."""
    choices = [
        lambda: vt.Gaussian(float(rng.choice([0.05, 0.5, 3.0]))),
        vt.Linear,
        lambda: vt.Gaussian(0.3) + vt.Constant(0.5),
        lambda: vt.Polynomial(2, gamma=0.3, coef0=1.0),
        lambda: vt.Cosine() * vt.Gaussian(0.2),
        lambda: vt.Standardized(vt.Gaussian(0.4)),
    ]
    return choices[int(rng.integers(len(choices)))]()


def graph(rng):
    """Return random edges, with some that repeat, vertices without edges, and tables of every kind."""
    m, q, n = (int(x) for x in rng.integers((2, 2, 3), (20, 18, 150)))
    tables = [rng.standard_normal((size, int(rng.integers(1, 5)))) for size in (m, q)]
    if rng.random() < 0.2:
        tables = [csr_array(table * (rng.random(table.shape) < 0.7)) for table in tables]
    if rng.random() < 0.2:
        tables[0] = tables[0].astype(np.float32)
    ids = [None, None]
    if rng.random() < 0.4:
        ids = [np.array([f"{name}{i}" for i in rng.permutation(size)]) for name, size in (("s", m), ("e", q))]
    start, end = rng.integers(0, m, n), rng.integers(0, q, n)
    given = [start if ids[0] is None else ids[0][start], end if ids[1] is None else ids[1][end]]
    X = vt.Edges(*given, *tables, start_ids=ids[0], end_ids=ids[1])
    assert (X.start == start).all()
    assert (X.end == end).all()
    return X


def dense(model, X, other):
    """Return the kernel matrix between the edges of two lists with the same tables, by definition."""
    k, g = model.predictor_.start.kernel, model.predictor_.end.kernel
    values = [
        np.asarray(kernel(_rows(table, rows), _rows(table, cols)), np.float64)
        for kernel, table, rows, cols in (
            (k, X.start_table, X.start, other.start),
            (g, X.end_table, X.end, other.end),
        )
    ]
    same = [rows[:, None] == cols[None, :] for rows, cols in ((X.start, other.start), (X.end, other.end))]
    return PAIRWISE[model.pairwise](*values, *same)


def _rows(table, rows):
    return table.features[rows].astype(np.float64)


def check_problem(rng, place):
    """Ridge regression equals the dense solution, for training edges, new edges, grids, files and recommendations."""
    X = graph(rng)
    y, alpha = rng.standard_normal(len(X)), float(rng.choice([0.01, 0.3, 5.0]))
    weight = rng.random(len(X)) + 0.1 if rng.random() < 0.3 else None
    options = {"pairwise": str(rng.choice(list(PAIRWISE))), "fit_intercept": bool(rng.random() < 0.3)}
    options["form"] = "auto" if options["pairwise"] != "kronecker" else str(rng.choice(["auto", "dual", "primal"]))
    options["solver"] = str(rng.choice(["auto", "cg"]))
    model = vt.KronRidge(kernel(rng), kernel(rng), alpha=alpha, tol=1e-10, max_iter=20000, **options)
    try:
        model.fit(X, y, weight)
    except ValueError as error:
        assert "predicts zero" in str(error), error  # such as features that are all zero
        return
    A = dense(model, X, X)
    w = np.ones(len(X)) if weight is None else weight
    ones = np.ones(len(X)) if options["fit_intercept"] else np.zeros(len(X))
    # (W A + alpha) a = W (y - b), with 1ᵀ W (y - A a - b) = 0
    system = np.block(
        [[w[:, None] * A + alpha * np.eye(len(X)), (w * ones)[:, None]], [(w * ones) @ A, w @ ones + (ones[0] == 0)]]
    )
    solution = np.linalg.lstsq(system, np.append(w * y, w @ (ones * y)), rcond=None)[0]
    a, b = solution[:-1], solution[-1] * ones[0]
    rough = 3e-3 if model.predict(X).dtype == np.float32 else 1e-5
    scale = np.abs(A @ a + b).max() + 1e-3
    np.testing.assert_allclose(model.predict(X), A @ a + b, atol=rough * scale)
    new = vt.Edges.grid(X.start_table.features, X.end_table.features)
    expected = dense(model, new, X) @ a + b
    np.testing.assert_allclose(
        model.predict_grid(X.start_table, X.end_table).ravel(), expected, atol=10 * rough * scale
    )
    path = os.path.join(place, f"{os.getpid()}.vt")
    model.save(path)
    np.testing.assert_array_equal(vt.load(path).predict(X), model.predict(X))
    _check_recommendations(rng, model, X, expected.reshape(len(X.start_table), -1), 10 * rough * scale)


def _check_recommendations(rng, model, X, grid, tolerance):
    k = int(rng.integers(1, 6))
    table = X.start_table
    some = rng.integers(0, len(table), 3)
    found = model.recommend(some if table.ids is None else table.ids[some].tolist(), k)
    known = {(int(i), int(j)) for i, j in zip(X.start, X.end, strict=True)}
    row = 0
    for vertex in some.tolist():
        left = np.array([score for j, score in enumerate(grid[vertex]) if (vertex, j) not in known])
        best = np.sort(left)[::-1][:k]
        np.testing.assert_allclose(found["score"][row : row + len(best)], best, atol=tolerance)
        row += len(best)
    assert row == len(found)


def check_classes(rng, place):
    """Classifiers end where the gradient of their risk is small, by the dense kernel matrix."""
    X = graph(rng)
    y = np.where(rng.random(len(X)) < 0.4, 1.0, -1.0)
    if len(np.unique(y)) < 2:
        return
    kind, alpha = (vt.KronSVM, vt.KronLogistic)[int(rng.integers(2))], float(rng.choice([0.1, 1.0, 10.0]))
    pairwise, constant = str(rng.choice(list(PAIRWISE))), bool(rng.random() < 0.5)
    model = kind(
        kernel(rng), kernel(rng), alpha=alpha, pairwise=pairwise, form="dual", tol=1e-8, fit_intercept=constant
    )
    try:
        model.fit(X, y)
    except ValueError as error:
        assert "predicts zero" in str(error), error
        return
    if model.dual_coef_.dtype != np.float64:
        return
    A, a = dense(model, X, X), model.dual_coef_
    f = A @ a + model.intercept_
    np.testing.assert_allclose(model.decision_function(X), f, atol=1e-6 * (np.abs(f).max() + 1e-3))

    def gradient(p):
        return -y * np.maximum(0, 1 - y * p) if kind is vt.KronSVM else -y / (1 + np.exp(np.minimum(y * p, 500)))

    def norm(g):
        return np.sqrt(max(0.0, g @ A @ g))

    assert norm(gradient(f) + alpha * a) <= 1e-4 * norm(gradient(0 * f)) + 1e-9
    assert constant or model.intercept_ == 0
    assert not constant or abs(gradient(f).sum()) <= 1e-4 * len(f)
