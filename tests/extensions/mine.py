"""Extensions as a user writes them, outside the package: a kernel, a loss, a solver, a pairwise kernel, a backend."""

from collections import Counter

import numpy as np

import vectrick as vt


class Laplacian(vt.kernels.Kernel):
    """``exp(-γ ‖x - y‖₁)``."""

    name = "laplacian"

    def __init__(self, gamma=1.0):
        self.gamma = gamma

    def _matrix(self, X, Y):
        return np.exp(-self.gamma * np.abs(X[:, None] - Y).sum(axis=2))

    def diagonal(self, X):
        return np.ones(len(X))


class Huber(vt.losses.Pointwise):
    """``½ e²`` for errors up to one, ``|e| - ½`` beyond."""

    name = "huber"

    def values(self, p, y):
        error = np.abs(p - y)
        return np.where(error < 1, 0.5 * error**2, error - 0.5)

    def slopes(self, p, y):
        return np.clip(p - y, -1.0, 1.0)

    def curvatures(self, p, y):
        return np.abs(p - y) < 1


class Boosting(vt.losses.Pointwise):
    """``exp(-y p)`` for labels -1 and +1: the loss of boosting."""

    name = "exponential"
    of_classes = True

    def values(self, p, y):
        return np.exp(-np.clip(y * p, -30, 30))

    def slopes(self, p, y):
        return -y * self.values(p, y)

    def curvatures(self, p, y):
        return self.values(p, y)


class Descent(vt.solvers.Solver):
    """Steepest descent in the kernel's inner product, with exact steps of a quadratic loss."""

    name = "descent"
    needs = ("is_smooth", "is_quadratic")
    max_iter = 400

    def minimise(self, space, loss, alpha, limits):
        x, residuals = space.zero(loss.y), []
        for k in range(limits.max_iter):
            gradient = space.element(space.lift(loss.gradient(x.f)) + alpha * x.c)
            square = space.inner(gradient, gradient)
            residuals.append(square**0.5 / residuals[0] if residuals else square**0.5)
            if k and residuals[-1] <= limits.tol:
                break
            curve = gradient.f @ loss.curvature(x.f).times(gradient.f) + alpha * square
            x.add(-square / curve, gradient)
            risk = loss.value(x.f) + 0.5 * alpha * space.inner(x, x)
            state = vt.solvers.Iterate(k + 1, space.n_products, x.c, x.f, risk, residuals[-1])
            if limits.callback is not None and limits.callback(state):
                break
        reached = residuals[-1] <= limits.tol
        return vt.solvers.Solution(x.c, x.f, reached, "mine", k + 1, space.n_products, residuals[1:])


class Weighted(vt.pairwise.PairwiseKernel):
    """``k(d, d') · g(t, t') + c · k(d, d')``: an effect of the start vertex beside the product."""

    name = "weighted"
    formula = "k(d, d') · g(t, t') + c · k(d, d')"

    def __init__(self, c=0.5):
        self.c = c

    def terms(self, start, end):
        return [vt.Term(1.0, start.kernel, end.kernel), vt.Term(self.c, start.kernel, vt.ONES)]


class Recording(vt.backends.NumpyBackend):
    """NumPy, with a record of what was asked for."""

    name = "recording"

    def __init__(self):
        self.asked = Counter()

    def product_paths(self, problem):
        self.asked["plans"] += 1
        return super().product_paths(problem)

    def workspace(self):
        self.asked["products"] += 1
        return super().workspace()

    def gaussian(self, X, Y, gamma):
        self.asked["kernels"] += 1
        return super().gaussian(X, Y, gamma)

    def rates(self, dtype, n_threads, fast, measured):
        self.asked["rates"] += 1
        return super().rates(dtype, n_threads, fast, measured)

    def free_memory(self):
        self.asked["memory"] += 1
        return super().free_memory()
