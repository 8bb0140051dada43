"""The command line: ``vectrick demo | fit | predict | rank | explain | suggest | evaluate | tune | info | doctor``."""

from vectrick.cli.app import main

__all__ = ["main"]
