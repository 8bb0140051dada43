from contextlib import contextmanager

from vectrick.backends.registry import _OTHERS
from vectrick.extensions import FAMILIES


@contextmanager
def registries_restored():
    """Forget afterwards what was registered, so that other tests see what the package has."""
    families = list(FAMILIES.values())
    before, plain = [dict(family._kinds) for family in families], [list(family._plain) for family in families]
    backends = dict(_OTHERS)
    try:
        yield
    finally:
        for family, kinds, names in zip(families, before, plain, strict=True):
            family._kinds, family._plain = kinds, names
        _OTHERS.clear()
        _OTHERS.update(backends)
