"""Kronecker logistic regression."""

from vectrick._typing import Array
from vectrick.backends import backend_of
from vectrick.backends.arrays import namespace
from vectrick.data import EdgesLike
from vectrick.data.lake.scan import ScannedEdges
from vectrick.estimators.classifier import KronClassifier
from vectrick.losses import Logistic, Loss


class KronLogistic(KronClassifier):
    """Logistic regression for labeled edges.

    It minimizes ``Σ log(1 + exp(-yᵢ pᵢ)) + ½ alpha ‖f‖²`` by truncated Newton; scikit-learn's C is 1 / alpha. An
    iteration takes O((m + q) n) for m start vertices, q end vertices and n edges.

    Parameters
    ----------
    <shared parameters>

    Attributes
    ----------
    classes_ : array
        The labels; with two classes, the second one is the positive class.
    machines_ : list
        With more than two classes, the model of each class against the rest. ``n_iter_``, ``history_`` and
        ``solution_`` are then from the model that took the most iterations, or did not converge.
    <shared attributes>

    Examples
    --------
    >>> import vectrick as vt
    >>> X, y = vt.datasets.make_checkerboard(100, random_state=0)
    >>> model = vt.KronLogistic(vt.Gaussian(gamma=1.0), vt.Gaussian(gamma=1.0), alpha=0.1).fit(X, y)
    >>> model.predict_proba(X[:2]).sum(axis=1)
    array([1., 1.])
    """

    @property
    def _loss_type(self) -> type[Loss]:
        return Logistic

    def predict_proba(self, X: EdgesLike | ScannedEdges) -> Array:
        """Return the probability of each class for each edge.

        With more than two classes, these are the probabilities of the one-vs-rest models, scaled to add up to one.
        """
        scores = self._decide(X)
        positive = backend_of(scores).sigmoid(scores)
        if self._machines:
            result: Array = positive / positive.sum(-1)[:, None]
            return result
        return namespace(scores).stack([1 - positive, positive], -1)

    def predict_log_proba(self, X: EdgesLike) -> Array:
        """Return the logarithm of the probability of each class for each edge."""
        if self._machines:
            probabilities = self.predict_proba(X)
            return namespace(probabilities).log(probabilities)
        scores = self._decide(X)
        log_sigmoid = backend_of(scores).log_sigmoid
        return namespace(scores).stack([log_sigmoid(-scores), log_sigmoid(scores)], -1)
