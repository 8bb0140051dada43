"""The version of the package; it is written only here."""

__version__ = "1.0.0rc1"
