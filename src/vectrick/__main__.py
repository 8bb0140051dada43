"""``python -m vectrick`` is the command line."""

from vectrick.cli import main

if __name__ == "__main__":
    main()
