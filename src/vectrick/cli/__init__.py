"""The command line: ``vectrick demo | fit | predict | evaluate | tune | rank | info | doctor``."""

from vectrick.cli.app import main

__all__ = ["main"]
