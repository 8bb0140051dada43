"""Defaults that suit nearly everybody: an intercept, edges given back after early stopping, warnings of bad data."""

import warnings

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, cross_val_score

import vectrick as vt

G = vt.Gaussian(0.5)


def graph(m=30, q=25, density=0.6, seed=0):
    rng = np.random.default_rng(seed)
    S, E = rng.standard_normal((m, 2)), rng.standard_normal((q, 2))
    start, end = np.divmod(rng.permutation(m * q)[: int(density * m * q)], q)
    return vt.Edges(start, end, S, E), (S[start] * E[end]).sum(axis=1) + 0.1 * rng.standard_normal(len(start))


class TestIntercept:
    def test_it_is_there_for_values_and_classes(self):
        X, y = graph()
        assert vt.KronRidge(G, G).fit(X, y + 10).intercept_ == pytest.approx(10, abs=1)
        rare = y > np.quantile(y, 0.95)
        for kind in (vt.KronSVM, vt.KronLogistic):
            auto, given = (kind(G, G, **how).fit(X, rare) for how in ({}, {"fit_intercept": True}))
            assert auto.intercept_ == given.intercept_ < -0.5

    @pytest.mark.parametrize(
        "model",
        [
            vt.KronRidge(G, G, solver="minres"),
            vt.KronRidge(G, G, fit_intercept=False),
            vt.KronRanker(G, G),
            vt.KronSVM(G, G, loss="hinge"),
        ],
    )
    def test_it_is_not_where_it_cannot_be_or_costs_much(self, model):
        X, y = graph()
        labels = np.sign(y) if isinstance(model, vt.KronSVM) else y + 10
        assert model.fit(X, labels).intercept_ == 0

    def test_two_step_and_antisymmetric_kernels_have_none(self):
        X, _ = graph(8, 6, 1.0)
        assert vt.KronRidge(G, G, pairwise="two_step").fit(X, np.arange(48.0)).intercept_ == 0
        one = vt.Edges([0, 1, 2], [1, 2, 0], np.eye(3))
        assert vt.KronRidge(pairwise="antisymmetric").fit(one, [1.0, 2.0, -1.0]).intercept_ == 0

    @pytest.mark.parametrize("given", ["yes", None, 1.5])
    def test_other_values_are_refused(self, given):
        with pytest.raises(ValueError, match=r"fit_intercept is .*, but it must be True, False or 'auto'"):
            vt.KronRidge(fit_intercept=given).fit(*graph())


class TestRefit:
    def test_the_held_out_edges_train_in_the_end(self):
        X, y = graph()
        given = {"early_stopping": True, "random_state": 0, "alpha": 1e-4, "solver": "cg"}
        first = vt.KronRidge(G, G, **given).fit(X, y)
        model = vt.KronRidge(G, G, **given, refit=True).fit(X, y)
        assert model.n_iter_ == first.n_iter_
        assert model.history_["score"] == first.history_["score"]
        assert (first.dual_coef_ == 0).any()
        assert not (model.dual_coef_ == 0).any()
        same = vt.KronRidge(G, G, alpha=1e-4, solver="cg", max_iter=model.n_iter_, tol=0.0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            np.testing.assert_allclose(model.predict(X), same.fit(X, y).predict(X), atol=1e-8)
        assert model.get_params() == {**first.get_params(), "refit": True}

    def test_the_vertices_that_were_held_out_are_known(self, tmp_path):
        X, y = graph()
        model = vt.KronRidge(G, G, early_stopping=True, random_state=0).fit(X, y)
        held = model.validation_vertices_
        trained = np.flatnonzero(model.dual_coef_)
        for side, vertices in (("start", X.start), ("end", X.end)):
            assert held[side]
            assert not set(held[side]) & set(vertices[trained].tolist())
        model.save(tmp_path / "model.vt")
        assert vt.load(tmp_path / "model.vt").validation_vertices_ == held
        assert not hasattr(model.set_params(early_stopping=False).fit(X, y), "validation_vertices_")

    def test_edges_that_were_given_for_validation_stay_out(self):
        X, y = graph()
        some = np.arange(len(X)) < 300
        validation = X[~some], y[~some]
        how = {"solver": "cg", "refit": True}
        model = vt.KronRidge(G, G, **how).fit(X[some], y[some], validation=validation)
        assert len(model.dual_coef_) == 300

    def test_classes_of_several_words(self):
        X, y = graph()
        words = np.array(["low", "middle", "high"])[np.digitize(y, [-0.5, 0.5])]
        model = vt.KronSVM(G, G, early_stopping=True, refit=True, random_state=0).fit(X, words)
        assert (model.predict(X) == words).mean() > 0.7

    def test_other_values_are_refused(self):
        with pytest.raises(ValueError, match="refit is 'yes', but it must be True or False"):
            vt.KronRidge(refit="yes").fit(*graph())


class TestRanker:
    def test_alpha_is_that_of_ridge_regression(self):
        X, y = graph()
        ranker, ridge = vt.KronRanker(G, G, alpha=3.0, tol=1e-10), vt.KronRidge(G, G, alpha=3.0, tol=1e-10)
        difference = ranker.fit(X, y).predict(X) - ridge.fit(X, y).predict(X)
        np.testing.assert_allclose(difference, difference[0], atol=1e-6)

    @pytest.mark.parametrize("groups", ["start", "end"])
    def test_within_vertices_the_loss_has_the_same_size(self, groups):
        X, y = graph(density=1.0)
        some = vt.KronRanker(G, G, alpha=30.0, groups=groups).fit(X, y).predict(X)
        every = vt.KronRidge(G, G, alpha=30.0).fit(X, y).predict(X)
        assert 0.5 < some.std() / every.std() < 2


class TestScores:
    @pytest.mark.parametrize(
        "model", [vt.KronRidge(G, G), vt.KronRanker(G, G), vt.AutoKron(loss="ridge", random_state=0)]
    )
    def test_scikit_learn_s_auc_of_regressors(self, model):
        X, y = graph()
        labels = np.where(y > 0, 1.0, -1.0)
        cv = vt.VertexKFold(2, 2, random_state=0)
        own = cross_val_score(model, X, labels, cv=cv, scoring=vt.get_scorer("auc"))
        np.testing.assert_allclose(cross_val_score(model, X, labels, cv=cv, scoring="roc_auc"), own, atol=0.02)

    def test_a_grid_search_chooses_among_numbers(self):
        X, y = graph()
        search = GridSearchCV(vt.KronRidge(G, G), {"alpha": [0.1, 1.0]}, scoring="roc_auc", cv=vt.VertexKFold(2, 2))
        search.fit(X, np.where(y > 0, 1.0, -1.0))
        assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def said(model, X, y):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    return [str(warning.message) for warning in caught if issubclass(warning.category, vt.DataWarning)]


class TestDataWarnings:
    def test_sound_data_get_none(self):
        assert said(vt.KronRidge(G, G), *graph()) == []

    def test_repeated_edges_once(self):
        X, y = graph()
        twice = X[np.append(np.arange(len(X)), [0, 1])]
        found = said(vt.KronRidge(G, G), twice, np.append(y, [y[0], y[1] + 1]))
        assert found == [
            "2 edges repeat another one, 1 of them with another label; keep one of each, with the mean of their labels"
        ]
        assert said(vt.KronRidge(G, G, alpha=2.0), twice, np.append(y, [y[0], y[1] + 1])) == []

    def test_scales_and_what_scales_them(self):
        X, y = graph()
        uneven = vt.Edges(X.start, X.end, X.start_table.features * [1.0, 1e4], X.end_table.features)
        (found,) = said(vt.KronRidge(G, G), uneven, y)
        assert "columns of start_features have very different scales (column 1 varies by" in found
        assert "vt.Standardized(kernel) scales them" in found
        again = vt.Edges(X.start, X.end, X.start_table.features * [1.0, 1e4], X.end_table.features)
        assert said(vt.KronRidge(vt.Standardized(G), G), again, y) == []

    def test_copies_of_vertices(self):
        X, y = graph()
        features = X.end_table.features.copy()
        features[3] = features[4]
        (found,) = said(vt.KronRidge(G, G), vt.Edges(X.start, X.end, X.start_table.features, features), y)
        assert "1 vertices of end_features have the same features as another one" in found
        assert "leakage" in found

    def test_labels_without_direction(self):
        F = np.random.default_rng(0).standard_normal((12, 2))
        start, end = np.nonzero(~np.eye(12, dtype=bool))
        labels = (F[start] * F[end]).sum(axis=1)
        (found,) = said(vt.KronRidge(G, G), vt.Edges(start, end, F), labels)
        assert "pairwise='symmetric'" in found
        assert said(vt.KronRidge(G, pairwise="symmetric"), vt.Edges(start, end, F), labels) == []

    def test_labels_far_from_zero_without_a_constant(self):
        X, y = graph()
        (found,) = said(vt.KronRidge(G, G, fit_intercept=False), X, y + 50)
        assert "the mean of the labels is 50" in found
        assert "fit_intercept=True" in found
        assert said(vt.KronRidge(G, G), graph()[0], y + 50) == []
        assert said(vt.KronRidge(G + vt.Constant(1.0), G, fit_intercept=False), graph()[0], y + 50) == []
        rare = np.where(y > np.quantile(y, 0.97), 1, -1)
        (found,) = said(vt.KronSVM(G, G, fit_intercept=False), graph()[0], rare)
        assert "% of the edges have the label 1" in found

    def test_a_search_knows_scales_but_not_copies(self):
        X, y = graph()
        features = X.start_table.features * [1.0, 1e4]
        features[0] = features[1]
        found = said(vt.AutoKron(random_state=0, n_best=1), vt.Edges(X.start, X.end, features, X.end_table.features), y)
        assert len(found) == 1
        assert "have the same features" in found[0]
