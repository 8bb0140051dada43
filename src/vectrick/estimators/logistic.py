"""Kronecker logistic regression."""

from typing import Any

import numpy as np
from scipy.special import expit, log_expit

from vectrick._arrays import is_tensor, namespace
from vectrick.estimators.classifier import KronClassifier
from vectrick.losses import Logistic, Loss

Array = Any  # of NumPy or torch


class KronLogistic(KronClassifier):
    """Logistic regression for labeled edges.

    It minimises ``Σ log(1 + exp(-yᵢ pᵢ)) + ½ alpha ‖f‖²`` by truncated Newton; scikit-learn's C is 1 / alpha. An
    iteration takes O((m + q) n) for m start vertices, q end vertices and n edges.

    Parameters
    ----------
    <shared parameters>

    Attributes
    ----------
    classes_ : array
        The labels; of two the second is the positive class.
    machines_ : list
        Of several classes, the model of each against the rest; what is told of the whole (``n_iter_``, ``history_``,
        ``solution_``) is told of the one that had most to do.
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

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class for each edge.

        Of several classes these are the probabilities of the machines, scaled so that they add up to one.
        """
        scores = self._decide(X)
        if self._machines:
            each = scores.sigmoid() if is_tensor(scores) else expit(scores)
            return each / each.sum(-1)[:, None]
        positive = scores.sigmoid() if is_tensor(scores) else expit(scores)
        pair = [1 - positive, positive]
        return namespace(scores).stack(pair, -1) if is_tensor(scores) else np.column_stack(pair)

    def predict_log_proba(self, X: Any) -> Array:
        """Return the logarithm of the probability of each class for each edge."""
        if self._machines:
            probabilities = self.predict_proba(X)
            return namespace(probabilities).log(probabilities)
        scores = self._decide(X)
        if is_tensor(scores):
            log_sigmoid = namespace(scores).nn.functional.logsigmoid
            return namespace(scores).stack([log_sigmoid(-scores), log_sigmoid(scores)], -1)
        return np.column_stack([log_expit(-scores), log_expit(scores)])
