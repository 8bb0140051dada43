"""A fit that is watched: callbacks, Ctrl-C that keeps the best model, and going on from an earlier step."""

import copy
import signal

import numpy as np
import pytest

import vectrick as vt

X, Y = vt.datasets.make_checkerboard(80, density=0.5, random_state=0)
HELD = vt.datasets.make_checkerboard(80, density=0.5, random_state=1)
G = vt.Gaussian(1.0)

ESTIMATORS = {
    "svm": vt.KronSVM(G, G, alpha=0.1, inner_iter=3, max_iter=12, tol=1e-10),
    "logistic": vt.KronLogistic(G, G, alpha=0.1, inner_iter=3, max_iter=12, tol=1e-10, fit_intercept=True),
    "ridge": vt.KronRidge(G, G, alpha=0.1, solver="cg", max_iter=60, tol=1e-8),
    "hinge": vt.KronSVM(G, G, loss="hinge", alpha=1.0, max_iter=3000, tol=1e-3),
}


def quiet(work):
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return work()


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_callback_sees_each_iteration_and_can_stop(name):
    from sklearn.base import clone

    steps = []

    def told(step):
        steps.append((step.iteration, step.risk, len(step.history["risk"])))
        return step.iteration == 2

    model = clone(ESTIMATORS[name]).fit(X, Y, callback=told)
    assert [step[0] for step in steps] == [1, 2]
    assert [step[2] for step in steps] == [1, 2]
    assert model.n_iter_ == 2
    assert model.history_["risk"] == [step[1] for step in steps]


@pytest.mark.parametrize("name", ["svm", "logistic"])
@pytest.mark.parametrize("early", [False, True])
def test_newton_goes_on_as_if_it_had_never_stopped(name, early):
    from sklearn.base import clone

    validation = HELD if early else None
    steps = []
    whole = quiet(lambda: clone(ESTIMATORS[name]).set_params(n_iter_no_change=50).fit(
        X, Y, validation=validation, callback=lambda step: steps.append(copy.deepcopy(step))))  # fmt: skip
    half = steps[len(steps) // 2]
    rest = clone(ESTIMATORS[name]).set_params(n_iter_no_change=50)
    quiet(lambda: rest.fit(X, Y, validation=validation, resume=half))
    assert rest.n_iter_ == whole.n_iter_
    assert rest.history_["iteration"] == whole.history_["iteration"]
    np.testing.assert_allclose(rest.history_["risk"], whole.history_["risk"], rtol=1e-6)
    np.testing.assert_allclose(rest.decision_function(X), whole.decision_function(X), atol=1e-5)


@pytest.mark.parametrize("name", ["ridge", "hinge"])
def test_others_go_on_to_the_same_minimum(name):
    from sklearn.base import clone

    kept = []
    whole = quiet(lambda: clone(ESTIMATORS[name]).set_params(max_iter=5000).fit(X, Y))
    quiet(lambda: clone(ESTIMATORS[name]).fit(
        X, Y, callback=lambda step: kept.append(copy.deepcopy(step)) or step.iteration == 10))  # fmt: skip
    rest = quiet(lambda: clone(ESTIMATORS[name]).set_params(max_iter=5000).fit(X, Y, resume=kept[-1]))
    assert rest.history_["iteration"][:11] == list(range(1, 12))
    assert rest.solution_.converged
    risk = whole.history_["risk"][-1]
    assert abs(rest.history_["risk"][-1] - risk) <= 2e-3 * risk


def interrupt_after(n):
    def told(step):
        if step.iteration == n:
            raise KeyboardInterrupt

    return told


@pytest.mark.parametrize("early", [False, True])
def test_an_interrupted_fit_keeps_the_best_model(early):
    validation = HELD if early else None
    steps = []

    def told(step):
        steps.append((step.best_iteration, np.array(step.best if early else step.x)))
        if step.iteration == 4:
            raise KeyboardInterrupt

    svm = vt.KronSVM(G, G, alpha=1e-3, inner_iter=3, max_iter=50, n_iter_no_change=50)
    model = svm.fit(X, Y, validation=validation, callback=told, keep_interrupted=True)
    assert model.solution_.reason.startswith("interrupted")
    assert not model.solution_.converged
    best, x = steps[-1]
    assert model.n_iter_ == (best if early else 4)
    np.testing.assert_array_equal(model.dual_coef_, x)


def test_a_signal_in_the_middle_of_an_iteration_keeps_a_model_too():
    def raise_interrupt(number, frame):
        raise KeyboardInterrupt

    def told(step):
        if step.iteration == 3:
            signal.setitimer(signal.ITIMER_REAL, 0.005)

    graph, labels = vt.datasets.make_checkerboard(300, random_state=0)
    svm = vt.KronSVM(G, G, alpha=1e-3, max_iter=10**6, inner_iter=3, tol=0.0)
    before = signal.signal(signal.SIGALRM, raise_interrupt)
    try:
        model = svm.fit(graph, labels, callback=told, keep_interrupted=True)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    assert model.solution_.reason == "interrupted"
    assert len(model.history_["risk"]) == model.n_iter_ >= 3


def test_without_being_asked_an_interrupt_is_an_interrupt():
    model = vt.KronSVM(G, G).fit(X, Y)
    before = model.dual_coef_
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y, callback=interrupt_after(1))
    assert model.dual_coef_ is before


def test_a_step_of_another_fit_is_refused():
    kept = []
    vt.KronSVM(G, G).fit(X, Y, callback=lambda step: kept.append(copy.deepcopy(step)))
    with pytest.raises(ValueError, match="resume has 3200 coefficients, but the model has 100"):
        vt.KronSVM(G, G).fit(X[:100], Y[:100], resume=kept[0])


def test_a_fit_that_is_complete_goes_no_further():
    steps = []
    first = quiet(lambda: vt.KronSVM(G, G, max_iter=3, inner_iter=2).fit(
        X, Y, callback=lambda step: steps.append(copy.deepcopy(step))))  # fmt: skip
    again = quiet(lambda: vt.KronSVM(G, G, max_iter=3, inner_iter=2).fit(X, Y, resume=steps[-1]))
    assert again.n_iter_ == 3
    assert again.history_["risk"] == first.history_["risk"]
    np.testing.assert_array_equal(again.dual_coef_, first.dual_coef_)


def test_a_callback_changes_nothing():
    small = vt.KronLogistic(G, G, alpha=1e-3).fit(X[:200], Y[:200])
    watched = vt.KronLogistic(G, G, alpha=1e-3).fit(X[:200], Y[:200], callback=lambda step: None)
    np.testing.assert_array_equal(small.dual_coef_, watched.dual_coef_)


def test_vertices_are_held_out_anew_where_one_label_is_left():
    labels = np.where((X.start < 4) & (X.end < 40), 1.0, -1.0)  # few vertices have positive edges
    for seed in range(8):
        model = vt.KronSVM(G, G, early_stopping=True, alpha=1.0, tol=0.1, random_state=seed).fit(X, labels)
        assert len(set(model.history_["score"])) >= 1


def test_blocks_of_a_grid_are_the_grid():
    model = vt.KronSVM(G, G).fit(X, Y)
    first, second = X.start_table.features, X.end_table.features
    grid = np.full((len(first), len(second)), np.nan)
    for rows, cols, block in model.iter_grid(first, second):
        grid[rows, cols] = block
    np.testing.assert_array_equal(grid, model.predict_grid(first, second))


def test_a_standardized_kernel_learns_from_the_training_vertices():
    from sklearn.preprocessing import StandardScaler

    rng = np.random.default_rng(0)
    features = rng.standard_normal((80, 3)) * [1.0, 100.0, 0.0] + [5.0, -300.0, 7.0]
    train = X.start < 50
    edges = vt.Edges(X.start, X.end, features, X.end_table.features)
    used = np.unique(X.start[train])
    scaler = StandardScaler().fit(features[used])
    scaled = vt.Edges(X.start, X.end, scaler.transform(features), X.end_table.features)
    for kernel, form in ((G, "dual"), (vt.Linear(), "primal"), (G, "primal")):
        ours = vt.KronSVM(vt.Standardized(kernel), G, form=form).fit(edges[train], Y[train])
        other = vt.KronSVM(kernel, G, form=form).fit(scaled[train], Y[train])
        np.testing.assert_allclose(ours.decision_function(edges), other.decision_function(scaled), atol=1e-6)


def test_a_constant_feature_stays_what_it_is():
    table = np.column_stack([np.full(30, 0.1), np.arange(30.0)])
    from scipy.sparse import csr_array

    for features in (table, csr_array(table)):
        kernel = vt.Standardized(vt.Linear()).resolve(features, np.arange(30))
        assert kernel.scale[0] == 1.0
        np.testing.assert_allclose(kernel.scale[1], np.arange(30.0).std())
    large = csr_array(np.column_stack([1e5 + 1e-3 * np.arange(30.0)]))
    np.testing.assert_allclose(
        vt.Standardized(vt.Linear()).resolve(large, np.arange(30)).scale, 1e-3 * np.arange(30.0).std(), rtol=1e-4
    )


def test_a_standardized_kernel_of_sparse_features_divides_only():
    from scipy.sparse import random_array

    table = random_array((80, 6), density=0.4, rng=np.random.default_rng(0), format="csr")
    edges = vt.Edges(X.start, X.end, table, X.end_table.features)
    dense = table.toarray() / table.toarray().std(axis=0)
    ours = vt.KronSVM(vt.Standardized(vt.Linear()), G).fit(edges, Y)
    other = vt.KronSVM("linear", G).fit(vt.Edges(X.start, X.end, dense, X.end_table.features), Y)
    np.testing.assert_allclose(
        ours.decision_function(edges),
        other.decision_function(vt.Edges(X.start, X.end, dense, X.end_table.features)),
        atol=1e-6,
    )
