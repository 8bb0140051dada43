"""Random use and misuse for as long as you like: ``python -m tests.soak --minutes 10``."""
