"""The command line, started by ``python -m vectrick``."""

from vectrick.cli import main

if __name__ == "__main__":
    main()
