"""Methods of fitted models beyond prediction: posterior, novelty, explanations and recommendations."""

from sklearn.utils.validation import check_is_fitted

from vectrick._typing import Array, ArrayLike, ExplainBy, Frame, RandomState, Table
from vectrick.data import EdgesLike
from vectrick.inference.explain import explain
from vectrick.inference.recommend import recommend
from vectrick.inference.uncertainty import N_SAMPLES, FittedPosterior, novelty_of, posterior_of
from vectrick.inference.without import predict_without
from vectrick.training.fitted import Fitted


class InferenceMethods:
    """Uncertainty, novelty, explanations and recommendations of a fitted model."""

    def posterior(self: Fitted, n_samples: int = N_SAMPLES, random_state: RandomState = None) -> FittedPosterior:
        """Return the posterior of a ridge regression, a Gaussian process: `std`, `std_error` and `covariance` of edges.

        Variances are exact for complete graphs, for up to 2000 training edges, and for few edges if no samples have
        been drawn before; otherwise they are estimated without bias from samples, with the degree model of the graph as
        control variate. The model must have kept its training edges.

        Parameters
        ----------
        n_samples : int
            The number of samples. The error of a standard deviation decreases with its square root.
        random_state : int, optional
            The seed of the samples.

        Examples
        --------
        >>> import vectrick as vt
        >>> X, y = vt.datasets.make_checkerboard(100, random_state=0)
        >>> model = vt.KronRidge(vt.Gaussian(gamma=1.0), vt.Gaussian(gamma=1.0)).fit(X, y)
        >>> posterior = model.posterior()
        >>> posterior.method
        'from 64 samples, with the degree model as control variate'
        >>> bool((posterior.std_error(X) < 0.1 * posterior.std(X)).all())
        True
        """
        check_is_fitted(self)
        return posterior_of(self, n_samples, random_state)

    def novelty(self: Fitted, X: EdgesLike, *, parts: bool = False) -> "Array | Frame":
        """Return how new edges are to the model, as numbers between 0 and 1.

        Novelty is the share of the prior variance of an edge that the training edges leave unexplained. For every loss,
        it is computed for ridge regression with the same kernels and alpha, by the degree model of the graph (exact on
        complete graphs). If it is 1, the prediction is the intercept alone. The model must have kept its training
        edges.

        Parameters
        ----------
        X : Edges or array
            The edges.
        parts : bool
            Whether to return a frame with "novelty", and with the novelty of the "start" and the "end" vertex: the same
            share, with variances averaged over the edges to all training vertices of the other side.

        Examples
        --------
        >>> import vectrick as vt
        >>> X, y = vt.datasets.make_checkerboard(100, random_state=0)
        >>> model = vt.KronSVM(vt.Gaussian(gamma=1.0), vt.Gaussian(gamma=1.0)).fit(X, y)
        >>> far = vt.Edges([0], [0], X.start_table.features[:1] + 1000, X.end_table.features[:1])
        >>> bool((model.novelty(X) < 1).all()), model.novelty(far)
        (True, array([1.]))
        """
        check_is_fitted(self)
        return novelty_of(self, X, parts)

    def explain(self: Fitted, X: EdgesLike, k: int = 10, *, by: ExplainBy = "edge", influence: bool = False) -> Frame:
        """Return a frame that explains the prediction for one edge.

        A prediction is a sum over the training edges. The frame contains the edges with the largest contributions, then
        one row each for the other edges, the intercept, and the residual of the solver (its solution is only near
        the minimum that defines the coefficients of edges). The column "contribution" adds up to the
        prediction. For a classifier, this is the decision value, whose sign is the class. The model must have kept its
        training edges.

        Parameters
        ----------
        X : Edges or array
            One edge.
        k : int
            The number of contributions to list.
        by : str
            "edge" for training edges, with their labels and the kernel values between their vertices and the vertices
            of the edge (for an ensemble, mean values, each relative to the values of vertices with themselves);
            "start" or "end" for training vertices, each with the sum over its edges; "features" for pairs of a start
            and an end feature, if the kernels are linear in them; "view" for pairs of a start and an end view, the
            summands of the kernels.
        influence : bool
            Whether to add a column "without": the prediction of the same model trained without the edge (ridge
            regression only).

        Examples
        --------
        >>> import vectrick as vt
        >>> X, y = vt.datasets.make_checkerboard(60, random_state=0)
        >>> model = vt.KronRidge(vt.Gaussian(gamma=1.0), vt.Gaussian(gamma=1.0), alpha=0.1).fit(X, y)
        >>> why = model.explain(X[:1], k=2)
        >>> why["what"].tolist()
        ['edge', 'edge', 'the rest', 'intercept', 'left by the solver']
        >>> bool(abs(why["contribution"].sum() - model.predict(X[:1])[0]) < 1e-10)
        True
        """
        check_is_fitted(self)
        return explain(self, X, k, by, influence)

    def predict_without(
        self: Fitted,
        X: EdgesLike,
        *,
        edges: ArrayLike | None = None,
        start: ArrayLike | None = None,
        end: ArrayLike | None = None,
    ) -> Array:
        """Return the predictions of the same model trained without some of the training edges.

        For ridge regression and few edges, this follows from the posterior covariances, exactly and without a fit;
        otherwise the model is trained again on the remaining edges. A classifier returns decision values.

        Parameters
        ----------
        X : Edges or array
            The edges to predict.
        edges : Edges or array, optional
            Training edges to leave out.
        start, end : id or list of ids, optional
            Vertices to leave out with all their training edges; positions if the tables have no ids.

        Examples
        --------
        >>> import vectrick as vt
        >>> X, y = vt.datasets.make_checkerboard(60, random_state=0)
        >>> model = vt.KronRidge(vt.Gaussian(gamma=1.0), vt.Gaussian(gamma=1.0), tol=1e-10).fit(X, y)
        >>> again = vt.KronRidge(vt.Gaussian(gamma=1.0), vt.Gaussian(gamma=1.0), tol=1e-10).fit(X[1:], y[1:])
        >>> bool(abs(model.predict_without(X[:1], edges=X[:1]) - again.predict(X[:1]))[0] < 1e-6)
        True
        """
        check_is_fitted(self)
        return predict_without(self, X, edges, start, end)

    def recommend(
        self: Fitted,
        start: ArrayLike | None = None,
        k: int = 10,
        exclude_known: bool = True,
        *,
        positions: ArrayLike | None = None,
        known: ArrayLike | None = None,
        end_features: Table = None,
    ) -> Frame:
        """Return a frame with the k best end vertices for each given start vertex, without known edges.

        Parameters
        ----------
        start : list of ids, or table
            Start vertices of the model, by their ids (or positions if they have no ids), or a table of new vertices as
            for `predict_grid`. An integer also matches a text id with the same digits, such as "7".
        k : int
            The number of end vertices for each start vertex; fewer if the other edges are known.
        exclude_known : bool
            Whether to leave out the edges that were given to `fit`, or the edges in ``known``.
        positions : list of int, optional
            Rows of ``start_table_`` instead of ``start``, for vertices that have ids.
        known : Edges or frame, optional
            Edges to leave out instead of the training edges. In a frame, the ids are in the columns "start" and "end",
            or else in the first two columns.
        end_features : table, optional
            The end vertices to choose from; by default all end vertices of the model.

        Returns
        -------
        pandas.DataFrame
            A row for each start vertex and partner, the best first: "start", "end", "rank", "score", and for logistic
            regression "probability". The whole grid is never in memory.

        Examples
        --------
        >>> import pandas as pd, vectrick as vt
        >>> users = pd.DataFrame({"age": [0.2, 0.9]}, index=["ann", "bob"])
        >>> items = pd.DataFrame({"size": [0.1, 0.5, 0.9]}, index=["pin", "cup", "box"])
        >>> df = pd.DataFrame({"start": ["ann", "ann", "bob"], "end": ["pin", "box", "box"]})
        >>> X = vt.Edges.from_frame(df, start_table=users, end_table=items)
        >>> model = vt.KronRidge("gaussian", "gaussian").fit(X, [1.0, 0.0, 1.0])
        >>> model.recommend(["ann"])["end"].tolist()
        ['cup']
        """
        check_is_fitted(self)
        return recommend(self, start, positions, k, exclude_known, known, end_features)
