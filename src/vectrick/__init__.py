"""Learning from labeled bipartite graphs with Kronecker product kernels.

Names are loaded on first use, so that ``import vectrick`` stays fast.

>>> import vectrick as vt
>>> X, y = vt.datasets.make_checkerboard(50, noise=0.0, random_state=0)
>>> model = vt.KronSVM(vt.Gaussian(gamma=1.0), vt.Gaussian(gamma=1.0), alpha=0.01).fit(X, y)
>>> model.score(X, y) > 0.9
True
"""

import lazy_loader

from vectrick._version import __version__

# __init__.pyi is the only list of public names: type checkers read it, and lazy_loader loads names from it.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__all__ += ["__version__"]
