from contextlib import contextmanager

from vectrick.backends.registry import _OTHERS
from vectrick.extensions import FAMILIES


@contextmanager
def registries_restored():
    """Forget afterwards what was registered, so that other tests see what the package has."""
    families = list(FAMILIES.values())
    before = [(known, dict(known)) for known in (*(family._kinds for family in families), _OTHERS)]
    plain = [family._plain for family in families]
    try:
        yield
    finally:
        for known, old in before:
            known.clear()
            known.update(old)
        for family, names in zip(families, plain, strict=True):
            family._plain = names
